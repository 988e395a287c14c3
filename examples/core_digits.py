"""The core alone, on handwritten digits: no series, no alert, no user, and no label in training.

Two shifted, noisy views of one image are a pair; what is learned is checked against the labels that
training never saw. Every step prints what a practitioner would want to see before going on: the
geometry, the neighbours, the gate of an approximate index, the audit of mined negatives, and a
bundle that is inspected and checked. Run it with ``python examples/core_digits.py [FOLDER]``.

Expected (seed 0; the last digits differ between machines)::

    geometry before: alignment 0.79, uniformity -1.64, mean cosine 0.55, rank 26.6 of 32
    TrainingHistory(40 epochs, 200 steps of 256 pairs, best probe 0.560 after epoch 35, \
temperature 0.081, 10.6 s)
    geometry after: alignment 0.31, uniformity -2.78, mean cosine 0.04, rank 18.0 of 32
    same digit, nearest image: 0.915; moved 0.825, by pixels 0.565
    gate: recall 0.999 on 400 queries, ef 16
    mined 4037 of 4191, margin 0.03; of 20 pairs read by eye 65% show the same digit
    bundle: 19 parts; every guard holds

Moved digits find their like where pixels do not. And the audit earns its keep: most of what looks
like a hard negative here is the same digit, so training on it would undo what was learned.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from likewise.core import (
    ContrastiveObjective,
    DualEncoder,
    ExactIndex,
    Geometry,
    HNSWIndex,
    MiningRule,
    Pairs,
    RecallProbe,
    Trainer,
    VectorEncoder,
    check_bundle,
    check_geometry,
    describe_dual,
    fingerprint,
    freeze_probes,
    inspect_bundle,
    make_views,
    measure_geometry,
    mine_negatives,
    save_bundle,
)
from sklearn.datasets import load_digits
from torch import Tensor

SEED = 0
HELD_OUT = 400


@dataclass(frozen=True)
class Nudge:
    """Move an image by up to one pixel and add noise."""

    noise: float = 0.1
    name: str = "nudge"
    invariance: str = "where the digit stands, and grain"

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Make a view of images [B, 64]."""
        padded = torch.nn.functional.pad(x.view(-1, 8, 8), (1, 1, 1, 1))
        corners = torch.randint(0, 3, (2, len(x)), generator=generator)
        rows = corners[0][:, None, None] + torch.arange(8)[None, :, None]
        columns = corners[1][:, None, None] + torch.arange(8)[None, None, :]
        moved = padded[torch.arange(len(x))[:, None, None], rows, columns].reshape(x.shape)
        return moved + self.noise * torch.randn(x.shape, generator=generator)


@dataclass(frozen=True, eq=False)
class TwoViews:
    """Pairs of two views of one image."""

    images: Tensor

    def __len__(self) -> int:
        return len(self.images)

    def batch(self, rows: Tensor, generator: torch.Generator) -> Pairs:
        """Make two views of each of these images."""
        return Pairs(*make_views(self.images[rows], Nudge(), generator))


def main(folder: Path) -> None:
    """Train, look, index, gate, mine, audit, bundle."""
    data = load_digits()
    order = np.random.default_rng(SEED).permutation(len(data.data))
    images = torch.tensor(data.data[order] / 16, dtype=torch.float32)
    labels = data.target[order]
    train, held = images[HELD_OUT:], images[:HELD_OUT]
    views = make_views(held, Nudge(), torch.Generator().manual_seed(SEED))

    encoder = DualEncoder(VectorEncoder(64, 32, hidden=(256,), seed=SEED))
    say("geometry before", encoder, views)
    trainer = Trainer(
        encoder,
        ContrastiveObjective(temperature=0.1),
        epochs=40,
        batch_size=256,
        learning_rate=3e-3,
        seed=SEED,
    )
    probe = RecallProbe(views[0], held, torch.arange(HELD_OUT), k=1)
    print(trainer.fit(TwoViews(train), probe))
    check_geometry(say("geometry after", encoder, views))

    name = fingerprint(encoder.serving_part(), preprocessing={"scale": 16})
    index = ExactIndex(encoder.encode_candidates(train), fingerprint=name)
    queries = encoder.encode_anchors(held)
    pixels = ExactIndex(train, fingerprint="pixels")
    print(f"same digit, nearest image: {agreement(index, queries, labels):.3f}; ", end="")
    moved = agreement(index, encoder.encode_anchors(views[0]), labels)
    print(f"moved {moved:.3f}, by pixels {agreement(pixels, views[0], labels):.3f}")

    gated = HNSWIndex(index.vectors, fingerprint=name, probes=queries)
    print(f"gate: recall {gated.gate_.recall:.3f} on {gated.gate_.queries} queries, ef {gated.ef}")

    anchors = encoder.encode_anchors(
        make_views(train, Nudge(), torch.Generator().manual_seed(1))[0]
    )
    _, audit = mine_negatives(
        index,
        anchors,
        index.ids,
        rule=MiningRule(count=3, relative_margin=0.98),
        fingerprint=name,
        seed=SEED,
    )
    shown = [(pair.anchor, int(pair.negative)) for pair in audit.pairs]
    alike = np.mean([labels[HELD_OUT:][a] == labels[HELD_OUT:][n] for a, n in shown])
    print(f"mined {audit.mined} of {audit.requested}, margin {audit.mean_margin:.2f}; ", end="")
    print(f"of {len(shown)} pairs read by eye {alike:.0%} show the same digit")

    packed, probes = index.pack(), freeze_probes(index, queries, fingerprint=name).pack()
    save_bundle(
        folder,
        kind="digits",
        config={"encoder": describe_dual(encoder)} | packed.config | probes.config,
        tensors=encoder.state_dict() | packed.tensors | probes.tensors,
        tables=packed.tables,
        reports={"mining": audit.to_dict()},
        fingerprint=name,
    )
    print(f"bundle: {len(inspect_bundle(folder).parts)} parts; {check_bundle(folder).summary}")


def say(when: str, encoder: DualEncoder, views: tuple[Tensor, Tensor]) -> Geometry:
    """Print how the held-out views lie on the sphere."""
    geometry = measure_geometry(*(torch.as_tensor(encoder.encode_anchors(v)) for v in views))
    print(
        f"{when}: alignment {geometry.alignment:.2f}, uniformity {geometry.uniformity:.2f}, "
        f"mean cosine {geometry.mean_cosine:.2f}, rank {geometry.effective_rank_centred:.1f} of 32"
    )
    return geometry


def agreement(index: ExactIndex, queries: Tensor, labels: np.ndarray) -> float:
    """Share of held-out images whose nearest training image shows the same digit."""
    nearest = index.search(queries, 1).rows
    return float(np.mean(labels[HELD_OUT:][nearest] == labels[:HELD_OUT]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary) / "digits")
