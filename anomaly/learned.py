"""The learned space: an encoder that was taught what corrupted rows look like.

In: standardised normal rows. Out: a :class:`LearnedSpace` whose distances grow where a row stops
belonging together, not only where it lies far away. A row and one of its near neighbours are a
positive pair; rows with broken cells, wrong scales or mixed modes are the *negatives*. (Views
made by corrupting would teach the encoder to ignore what it is there to see.)

InfoNCE then learns ``log p(row | neighbourhood) - log q(row)`` with q the corruption, so what
``corruption.NEGATIVES`` draws is part of the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..core import ExactIndex, Pairs, Progress, VectorEncoder, fingerprint
from .corruption import NEGATIVES, Population
from .distances import Integers, Lengths, Matrix, Nearest, Vectors
from .learning import Serving, Units, train


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """How the encoder is trained.

    Attributes:
        steps: Optimiser steps, about.
        batch_size: Pairs a step.
        negatives: Corrupted rows a pair.
        neighbours: A positive is drawn from that many nearest rows.
        temperature: Of the objective, fixed.
        learning_rate: Peak rate.
        width: Length of a vector.
        hidden: Units of each hidden layer.
        waves: Random Fourier features beside the row.
        wave_scale: Their frequency in waves a standard deviation, over the whole row.
    """

    steps: int = 300
    batch_size: int = 128
    negatives: int = 3
    neighbours: int = 5
    temperature: float = 0.1
    learning_rate: float = 2e-3
    width: int = 32
    hidden: tuple[int, ...] = (128, 128)
    waves: int = 64
    wave_scale: float = math.sqrt(2.0)


class Waves:
    """Random Fourier features: what lets a small network draw fine borders.

    Args:
        frequencies: [D, W].
        phases: [W].

    Source: Rahimi and Recht (2007).
    """

    def __init__(self, frequencies: Matrix, phases: NDArray[np.float64]) -> None:
        self.frequencies, self.phases = frequencies, phases

    @classmethod
    def drawn(cls, features: int, settings: LearningSettings, draw: np.random.Generator) -> Waves:
        """Draw frequencies that keep their meaning whatever the number of columns."""
        scale = settings.wave_scale / math.sqrt(features)
        frequencies = scale * draw.normal(size=(features, settings.waves))
        return cls(frequencies, draw.uniform(0, 2 * np.pi, settings.waves))

    def beside(self, rows: Matrix) -> Units:
        """Set the features beside the rows: float32 [N, D + W]."""
        waves = np.cos(np.einsum("nd,dw->nw", rows, self.frequencies) + self.phases)
        return np.concatenate([rows, waves], axis=1).astype(np.float32)


class LearnedSpace:
    """Rows as the encoder sees them: unit vectors, searched by core's index.

    Args:
        encoder: The trained encoder.
        waves: Its Fourier features.
    """

    name = "learned"

    def __init__(self, encoder: VectorEncoder, waves: Waves) -> None:
        self.encoder, self.waves = encoder, waves
        self._serving = Serving(encoder)
        self.fingerprint = fingerprint(
            encoder, preprocessing={"frequencies": waves.frequencies, "phases": waves.phases}
        )

    def embed(self, rows: Matrix) -> Units:
        """Encode standardised rows as unit vectors; float32 [N, width]."""
        return self._serving.embed(self.waves.beside(rows))

    def prepare(self, vectors: Vectors) -> Directions:
        """Put reference vectors into the index of this encoder."""
        return Directions(np.asarray(vectors, dtype=np.float32), self.fingerprint)

    def tensors(self) -> Mapping[str, Vectors]:
        """Weights and Fourier features."""
        weights = {
            f"encoder.{name}": value.numpy(force=True)
            for name, value in self.encoder.state_dict().items()
        }
        return {"frequencies": self.waves.frequencies, "phases": self.waves.phases, **weights}


class Directions:
    """Reference vectors on the sphere, searched by core's exact index.

    Args:
        vectors: float32 [N, width].
        fingerprint: Of the encoder that made them.
    """

    def __init__(self, vectors: Units, fingerprint: str) -> None:
        self.index = ExactIndex(vectors, fingerprint=fingerprint)

    def nearest(self, queries: Vectors, k: int, *, leave_out: Integers | None = None) -> Nearest:
        """Find the k nearest vectors; distance is the chord, sqrt(2 - 2 cosine), in [0, 2]."""
        asked = k if leave_out is None else k + 1
        found = self.index.search(queries, asked, fingerprint=self.index.fingerprint)
        similarity = found.similarity.reshape(-1, asked).astype(np.float64)
        rows = found.rows.reshape(-1, asked)
        if leave_out is not None:
            # Drop the row itself; where twins pushed it out, the last one, which is as near.
            own = rows == leave_out[:, None]
            own[~own.any(axis=1), -1] = True
            similarity, rows = similarity[~own].reshape(-1, k), rows[~own].reshape(-1, k)
        chord = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * similarity))
        # Below the resolution of a float32 cosine, two vectors are the same vector.
        chord[chord < 1e-3] = 0.0
        return Nearest(chord, rows)


class NeighbourPairs:
    """Pairs of a row and a near neighbour, with corrupted rows as negatives.

    Args:
        rows: Standardised normal rows, [N, D].
        near: Row numbers of each row's nearest others, [N, K].
        waves: Features set beside every row.
        negatives: Corrupted rows a pair.
    """

    def __init__(self, rows: Matrix, near: Integers, waves: Waves, negatives: int) -> None:
        self.rows, self.near, self.waves, self.negatives = rows, near, waves, negatives
        self._population = Population(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
        """Make the pairs of ``rows`` and their negatives."""
        seed = int(torch.randint(2**62, (1,), generator=generator))
        draw = np.random.default_rng(seed)
        at = rows.numpy()
        partners = self.near[at, draw.integers(self.near.shape[1], size=len(at))]
        negatives = NEGATIVES.draw(self._population, self.negatives * len(at), draw)
        return Pairs(
            anchors=self._inputs(self.rows[at]),
            positives=self._inputs(self.rows[partners]),
            ids=torch.from_numpy(partners),
            negatives=self._inputs(negatives),
        )

    def _inputs(self, rows: Matrix) -> torch.Tensor:
        return torch.from_numpy(self.waves.beside(rows))


def learn_space(
    rows: Matrix,
    *,
    seed: int,
    settings: LearningSettings | None = None,
    progress: Progress | None = None,
) -> LearnedSpace:
    """Train an encoder on standardised normal rows.

    Args:
        rows: [N, D], more than ``neighbours``.
        seed: Of weights, features, pairs and negatives.
        settings: None for the defaults.
        progress: Display of the epochs.

    Raises:
        RepresentationCollapse: The encoder answers the same for everything.
    """
    settings = settings or LearningSettings()
    waves = Waves.drawn(rows.shape[1], settings, np.random.default_rng([seed, 1]))
    near = Lengths(rows).leave_one_out(min(settings.neighbours, len(rows) - 1)).rows
    pairs = NeighbourPairs(rows, near, waves, settings.negatives)
    encoder = _encoder(rows.shape[1], settings, seed)
    return LearnedSpace(train(encoder, pairs, settings, seed=seed, progress=progress), waves)


def restore_space(tensors: Mapping[str, Vectors], settings: LearningSettings) -> LearnedSpace:
    """Build a learned space from what :meth:`LearnedSpace.tensors` gave."""
    waves = Waves(
        np.asarray(tensors["frequencies"], dtype=np.float64),
        np.asarray(tensors["phases"], dtype=np.float64),
    )
    encoder = _encoder(waves.frequencies.shape[0], settings, seed=0)
    weights = {
        name.removeprefix("encoder."): torch.from_numpy(np.array(value))
        for name, value in tensors.items()
        if name.startswith("encoder.")
    }
    encoder.load_state_dict(weights)
    return LearnedSpace(encoder.eval(), waves)


def _encoder(features: int, settings: LearningSettings, seed: int) -> VectorEncoder:
    return VectorEncoder(
        features + settings.waves,
        settings.width,
        hidden=settings.hidden,
        linear_path=False,
        seed=seed,
    )
