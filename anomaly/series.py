"""The detector of series: normal stretches of time in, one score for every stamp out.

``SeriesDetector`` is fitted on a long frame of verified-normal series and answers with a frame of
the same kind, one row per stamp. A stamp that cannot be judged has no score, and says why. What it
learned is in ``window_model.py``; here frames, calibration and the two ways to score are bound
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import Augmentation, Progress, SettingError, TooFewRows, UnknownId
from .blindspots import Register
from .distances import Integers
from .series_frame import SeriesFrame, read_series
from .threshold import Threshold, calibrate, check_rate
from .window_learning import WindowLearning
from .window_model import CHUNK, WindowModel, learn_window_model
from .window_parts import PARTS, Floats, PartName
from .windows import Values, cut, suggest_lookback, whole_ends

Mode = Literal["causal", "covering"]
Pooling = Literal["series", "pooled"]

TOO_EARLY = "fewer steps before it than a window holds"
GAP = "a gap in every window over it"


@dataclass(frozen=True, slots=True, eq=False)
class FittedSeries:
    """What was fitted for one series, or for all of them together.

    Attributes:
        model: Of normal windows.
        threshold: From held-out stretches.
        held: Their scores, ascending.
        held_out: First step of the held-out stretch of each series, by id.
    """

    model: WindowModel
    threshold: Threshold
    held: Floats
    held_out: dict[Any, int]


class SeriesDetector:
    """Detect stretches of series that are far from every verified-normal stretch.

    Args:
        false_alarm_rate: Share of normal stamps that may alert, in (0, 1).
        lookback: L, steps of a window; None reads it from the data.
        k: Neighbours a distance is the mean of.
        mode: ``"causal"`` scores a stamp by the window that ends there, so a stream and a batch
            agree; ``"covering"`` by all windows over it, sharper, up to L - 1 steps later.
        parts: What to look at: ``point``, ``window``, ``residual``, ``learned``.
        augmentations: Views the encoder learns to ignore. Each is a declared blind spot.
        pooling: ``"series"`` compares a series with itself, ``"pooled"`` with all.
        calibration_share: Last share of each series, which the encoder does not see.
        reference_size: Most windows to compare with; more are thinned evenly over time, and
            ``notes_`` says so.
        learning: Training of the encoder; None for the defaults.
        id_col, time_col: Names of the columns.
        seed: Of everything random.

    Attributes:
        fitted_: What was fitted, by series id (one entry, None, when pooled).
        channels_: Names of the channels.
        notes_: What the reader should know about the fit.
        register_: The register, once measured.
    """

    def __init__(
        self,
        false_alarm_rate: float = 0.01,
        *,
        lookback: int | None = None,
        k: int = 3,
        mode: Mode = "causal",
        parts: Sequence[PartName] = PARTS,
        augmentations: Sequence[Augmentation] = (),
        pooling: Pooling = "series",
        calibration_share: float = 0.3,
        reference_size: int = 4096,
        learning: WindowLearning | None = None,
        id_col: str = "unique_id",
        time_col: str = "ds",
        seed: int = 0,
    ) -> None:
        check_rate(false_alarm_rate)
        unknown = [name for name in parts if name not in PARTS]
        if unknown or not parts:
            raise SettingError(f"parts {list(parts)} must be some of {', '.join(PARTS)}")
        if mode not in ("causal", "covering") or pooling not in ("series", "pooled"):
            raise SettingError(
                f"mode is {mode!r} (use 'causal' or 'covering') and pooling {pooling!r} "
                "(use 'series' or 'pooled')"
            )
        if lookback is not None and lookback < 2:
            raise SettingError(f"lookback is {lookback}; a window holds at least 2 steps")
        self.false_alarm_rate = false_alarm_rate
        self.lookback = lookback
        self.k = k
        self.mode: Mode = mode
        self.parts = tuple(parts)
        self.augmentations = tuple(augmentations)
        self.pooling: Pooling = pooling
        self.calibration_share = calibration_share
        self.reference_size = reference_size
        self.learning = learning or WindowLearning()
        self.id_col = id_col
        self.time_col = time_col
        self.seed = seed
        self.register_: Register | None = None

    def fit(self, frame: Any, *, progress: Progress | None = None) -> Self:
        """Fit on verified-normal series.

        Args:
            frame: Long frame: id (optional), time, channels.
            progress: Display of the training.

        Raises:
            InputError: With every fault of the frame.
            TooFewRows: A series too short for its windows or the false-alarm rate.
        """
        read = read_series(frame, id_col=self.id_col, time_col=self.time_col)
        self.channels_ = read.channels
        self.notes_: list[str] = []
        if self.pooling == "pooled":
            self.fitted_ = {None: self._fit_group(read.ids, read.values, progress)}
        else:
            self.fitted_ = {
                one: self._fit_group((one,), (values,), progress)
                for one, values in zip(read.ids, read.values, strict=True)
            }
        self.register_ = None
        return self

    def score(self, frame: Any, *, stride: int = 1) -> Any:
        """Score every stamp of a frame.

        Args:
            frame: As in :meth:`fit`, with the same channels.
            stride: Steps between windows in ``covering`` mode; one more window always ends at the
                last step, so the tail is covered too. ``causal`` mode takes 1.

        Returns:
            A frame of the caller's kind, as long as the input and in the order of series and
            time: id, time, ``score`` (NaN where there is none), ``alert`` and ``reason``.
        """
        if stride < 1 or (stride > 1 and self.mode == "causal"):
            raise SettingError(
                f"stride is {stride}; it is at least 1, and exactly 1 in causal mode, where every "
                "stamp is judged by its own window"
            )
        read = self._read(frame)
        scores, alerts, reasons = [], [], []
        for one, values in zip(read.ids, read.values, strict=True):
            fitted = self._of(one)
            score, reason = self.score_values(values, one, stride=stride)
            scores.append(score)
            alerts.append(fitted.threshold.alerts(score))
            reasons += reason
        return read.answer(
            {
                "score": np.concatenate(scores),
                "alert": np.concatenate(alerts),
                "reason": pl.Series(reasons, dtype=pl.String),
            },
            [len(values) for values in read.values],
        )

    def score_values(
        self, values: Values, series: Any = None, *, stride: int = 1
    ) -> tuple[Floats, list[str | None]]:
        """Score the steps of one series [T, C]; gives scores and, where NaN, the reasons."""
        model = self._of(series).model
        lookback = model.lookback
        ends = whole_ends(values, lookback)
        if stride > 1 and len(values) >= lookback:
            wanted = {*range(lookback - 1, len(values), stride), len(values) - 1}
            ends = np.array([end for end in ends.tolist() if end in wanted], dtype=np.int64)
        at_end = np.full(len(values), np.nan)
        for start in range(0, len(ends), CHUNK):
            piece = ends[start : start + CHUNK]
            # Standardising a chunk at a time keeps a year of minutes within the memory of a chunk.
            first = piece[0] - lookback + 1
            scaled = model.standardise(values[first : piece[-1] + 1])
            at_end[piece] = model.score_windows(cut(scaled, lookback, piece - first))
        scores = at_end if self.mode == "causal" else cover(at_end, lookback)
        return scores, _explain_gaps(scores, lookback, self.mode)

    def threshold(self, series: Any = None) -> Threshold:
        """Give the threshold of a series (any, when pooled)."""
        return self._of(series).threshold

    def save(self, path: str | PathLike[str]) -> None:
        """Save everything that was fitted as one folder."""
        from .series_store import save_series  # noqa: PLC0415 - storing knows detectors

        save_series(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Load a saved detector; it answers to the bit as before."""
        from .series_store import load_series  # noqa: PLC0415

        return load_series(cls, path)

    def _read(self, frame: Any) -> SeriesFrame:
        return read_series(
            frame, id_col=self.id_col, time_col=self.time_col, channels=self.channels_
        )

    def _of(self, series: Any) -> FittedSeries:
        if not hasattr(self, "fitted_"):
            raise SettingError("the detector is not fitted; call fit first")
        if None in self.fitted_:
            return self.fitted_[None]
        if series is None and len(self.fitted_) == 1:
            return next(iter(self.fitted_.values()))
        if series not in self.fitted_:
            raise UnknownId(
                f"series {series!r} was not fitted; fit it, or fit with pooling='pooled' to judge "
                "new series by all others"
            )
        return self.fitted_[series]

    def _fit_group(
        self, ids: Sequence[Any], series: Sequence[Values], progress: Progress | None
    ) -> FittedSeries:
        lookback = self.lookback or suggest_lookback(max(series, key=len))
        starts = [len(values) - round(self.calibration_share * len(values)) for values in series]
        every = [whole_ends(values, lookback) for values in series]
        learn_from = [ends[ends < start] for ends, start in zip(every, starts, strict=True)]
        # A held-out window shares no step with one the encoder saw.
        held = [e[e >= start + lookback - 1] for e, start in zip(every, starts, strict=True)]
        if sum(map(len, learn_from)) < 2 or not sum(map(len, held)):
            raise TooFewRows(
                f"series of {[len(values) for values in series]} steps leave "
                f"{sum(map(len, learn_from))} windows of {lookback} to learn from and "
                f"{sum(map(len, held))} to calibrate on; fit on longer series or shorten lookback"
            )
        model = learn_window_model(
            series,
            learn_from=learn_from,
            lookback=lookback,
            k=self.k,
            parts=self.parts,
            reference_size=self.reference_size,
            learning=_with(self.learning, self.augmentations),
            seed=self.seed,
            progress=progress,
        )
        windows = sum(map(len, every))
        if windows > len(model.reference):
            self.notes_.append(
                f"{len(model.reference)} of {windows} normal windows are compared with, evenly "
                "over time; raise reference_size for more"
            )
        scores = [
            self._held_scores(model, values, number, ends)
            for number, (values, ends) in enumerate(zip(series, held, strict=True))
        ]
        joined = np.sort(np.concatenate(scores))
        self.notes_.append(
            f"windows overlap: {len(joined)} held-out scores are worth about "
            f"{max(1, len(joined) // lookback)} independent ones"
        )
        threshold = calibrate(joined, self.false_alarm_rate)
        return FittedSeries(model, threshold, joined, dict(zip(ids, starts, strict=True)))

    def _held_scores(
        self, model: WindowModel, values: Values, number: int, ends: Integers
    ) -> Floats:
        if not len(ends):
            return np.empty(0)
        at_end = np.full(len(values), np.nan)
        at_end[ends] = model.normal_strangeness(values, number, ends)
        scores = at_end if self.mode == "causal" else cover(at_end, model.lookback)
        return scores[np.isfinite(scores)]


def cover(at_end: Floats, lookback: int) -> Floats:
    """Give each step the geometric mean of the scores of all windows over it, [T].

    Args:
        at_end: Score of the window that ends at each step, NaN where there is none, [T].
        lookback: L.

    >>> cover(np.array([np.nan, 1.0, 4.0]), 2)
    array([1., 2., 4.])
    """
    known = np.isfinite(at_end)
    logs = np.where(known, np.log(np.where(known, at_end, 1.0) + 1e-12), 0.0)
    ahead = np.arange(len(at_end)) + lookback
    stop = np.minimum(ahead, len(at_end))
    sums = np.concatenate([[0.0], np.cumsum(logs)])
    counts = np.concatenate([[0], np.cumsum(known)])
    number = counts[stop] - counts[:-1]
    mean = (sums[stop] - sums[:-1]) / np.maximum(number, 1)
    covered: Floats = np.where(number > 0, np.exp(mean), np.nan)
    return covered


def _explain_gaps(scores: NDArray[np.float64], lookback: int, mode: Mode) -> list[str | None]:
    reasons: list[str | None] = [None] * len(scores)
    for step in np.flatnonzero(np.isnan(scores)).tolist():
        early = mode == "causal" and step < lookback - 1
        reasons[step] = TOO_EARLY if early or len(scores) < lookback else GAP
    return reasons


def _with(learning: WindowLearning, augmentations: tuple[Augmentation, ...]) -> WindowLearning:

    return replace(learning, augmentations=augmentations)
