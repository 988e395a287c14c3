"""The detector of series: normal stretches of time in, one score for every stamp out.

``SeriesDetector`` is fitted on a long frame of verified-normal series and answers with a frame of
the same kind, one row per stamp. A stamp that cannot be judged has no score, and says why. What it
learned is in ``window_model.py`` and what was fitted for each series in ``series_fit.py``; here
frames, the reference over time and the two ways to score are bound together.
"""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.exceptions import NotFittedError

from ..core import ProcedureWarning, Progress, SettingError, UnknownId
from .blindspots import Register
from .series_fit import FittedSeries, Floats, Stretch, fit_stretches
from .series_frame import SeriesFrame, read_series
from .series_settings import Mode, SeriesSettings
from .threshold import Threshold
from .window_model import CHUNK
from .windows import Values, cover, cut, whole_ends

TOO_EARLY = "fewer steps before it than a window holds"
GAP = "a gap in every window over it"


class UnfittedError(SettingError, NotFittedError):  # type: ignore[misc]
    """A detector was asked before it was fitted."""


class SeriesDetector(SeriesSettings):
    """Detect stretches of series that are far from every verified-normal stretch.

    Its settings are those of :class:`SeriesSettings`.

    Attributes:
        fitted_: What was fitted, by series id (one entry, None, when pooled).
        channels_: Names of the channels.
        notes_: What the reader should know about the fit.
        register_: The register, once measured.
    """

    register_: Register | None = None

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
        pooled = self.pooling == "pooled"
        groups = (
            {None: (read.ids, read.values)}
            if pooled
            else {i: ((i,), (v,)) for i, v in zip(read.ids, read.values, strict=True)}
        )
        self.channels_ = read.channels
        self.notes_: list[str] = []
        self.fitted_: dict[Any, FittedSeries] = {}
        for key, (ids, series) in groups.items():
            self.fitted_[key], notes = fit_stretches(self, ids, series, progress)
            self.notes_ += notes
        self._undo: list[dict[Any, FittedSeries]] = []
        self.register_ = None
        return self

    def append(self, frame: Any) -> Self:
        """Add verified-normal stretches to compare with, without training again.

        The encoder stays as it is, and scores can only fall. The thresholds concerned are stale
        until :meth:`recalibrate`.

        Args:
            frame: As in :meth:`fit`, with the same channels. A stretch need not follow on the
                fitted ones.

        Raises:
            UnknownId: A series that was not fitted, unless the detector is pooled.
            TooFewRows: A stretch shorter than a window.
        """
        read = self._read(frame)
        later: dict[Any, list[Stretch]] = {}
        for one, values in zip(read.ids, read.values, strict=True):
            self._of(one)
            key = None if None in self.fitted_ else one
            later.setdefault(key, []).append(Stretch(one, values, 0))
        grown = {key: self.fitted_[key].extended(stretches) for key, stretches in later.items()}
        self._undo.append(self.fitted_)
        self.fitted_ = self.fitted_ | grown
        return self

    def recalibrate(self) -> Self:
        """Set every stale threshold again, from all that the encoder has not seen."""
        self._require_fitted()
        self.fitted_ = {
            key: one.recalibrated(self.false_alarm_rate, self.mode) if one.stale else one
            for key, one in self.fitted_.items()
        }
        return self

    def undo(self) -> Self:
        """Take the last append back, with the thresholds that stood before it."""
        self._require_fitted()
        if not self._undo:
            raise SettingError("nothing was appended since the fit, so there is nothing to undo")
        self.fitted_ = self._undo.pop()
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
        self._warn_stale()
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

    def lookback_of(self, series: Any = None) -> int:
        """Give L, the steps of a window of a series (any, when pooled)."""
        return self._of(series).model.lookback

    def save(self, path: str | PathLike[str]) -> None:
        """Save everything that was fitted as one folder."""
        from .series_store import save_series  # noqa: PLC0415 - storing knows detectors

        self._require_fitted()
        save_series(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Load a saved detector; it answers to the bit as before."""
        from .series_store import load_series  # noqa: PLC0415

        return load_series(cls, path)

    def _require_fitted(self) -> None:
        if not hasattr(self, "fitted_"):
            raise UnfittedError(
                f"this {type(self).__name__} has no normal series to compare with; call fit, or "
                "load a bundle, before anything else"
            )

    def _warn_stale(self) -> None:
        told = {str(key): one.stale for key, one in self.fitted_.items() if one.stale}
        if told:
            warnings.warn(
                f"thresholds are stale ({'; '.join(told.values())}); call recalibrate()",
                ProcedureWarning,
                stacklevel=3,
            )

    def _read(self, frame: Any) -> SeriesFrame:
        self._require_fitted()
        return read_series(
            frame, id_col=self.id_col, time_col=self.time_col, channels=self.channels_
        )

    def _of(self, series: Any) -> FittedSeries:
        self._require_fitted()
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


def _explain_gaps(scores: Floats, lookback: int, mode: Mode) -> list[str | None]:
    reasons: list[str | None] = [None] * len(scores)
    for step in np.flatnonzero(np.isnan(scores)).tolist():
        early = mode == "causal" and step < lookback - 1
        reasons[step] = TOO_EARLY if early or len(scores) < lookback else GAP
    return reasons
