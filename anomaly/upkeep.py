"""Upkeep: the reference set and the threshold of a detector, over time.

In: a fitted detector and normal rows that come, go or grow old. Out: the same detector with
another reference set; what was learned stays as it is, and so does its fingerprint. Every change
marks the threshold as stale until it is set again, and the last change can be undone.
"""
# ruff: noqa: N803 - X is scikit-learn's name for rows

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..core import LeakError, ProcedureWarning, SettingError, TooFewRows
from .coreset import choose_coreset
from .model import Floats, Reference, RowModel
from .normals import Normals, make_ids, share_of_twins
from .table import OnMissing
from .threshold import Threshold, calibrate, rows_needed


class Upkeep:
    """What a detector of rows can do with its reference set; mixed into it."""

    k: int
    seed: int
    false_alarm_rate: float
    decision_scores_: Floats
    model_: RowModel
    reference_: Normals
    stale_: str
    _index: Reference
    _aside: Normals
    _undo: list[tuple[Normals, Reference, Normals, str]]

    @abstractmethod
    def _read(
        self, X: Any, on_missing: OnMissing | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]: ...

    def append(self, X: Any, *, ids: ArrayLike | None = None) -> Self:
        """Add verified-normal rows without training again.

        The encoder stays as it is; scores can only fall. The threshold is stale until
        :meth:`recalibrate` or :meth:`calibrate`.
        """
        rows, _ = self._read(X, on_missing="error")
        named = make_ids(ids, len(rows), 0 if ids is not None else self._next_id())
        index = self._index.extended(rows)
        own = np.arange(len(self.reference_), len(index), dtype=np.int64)
        normals = self.reference_.extended(rows, named, index.score(rows, leave_out=own))
        self._change(normals, index, self._aside, f"{len(rows)} rows were appended")
        return self

    def remove(self, ids: ArrayLike) -> Self:
        """Take rows out of the reference set by id; those of a coreset with what they remember."""
        check_is_fitted(self)
        gone = self.reference_.rows_of(ids)
        keep = np.setdiff1d(np.arange(len(self.reference_)), gone)
        self._keep(keep, self._aside, f"{len(gone)} rows were removed")
        return self

    def retire(self, before: int) -> Self:
        """Take out all rows of additions before number ``before`` (the fit is 0)."""
        check_is_fitted(self)
        keep = np.flatnonzero(self.reference_.batch >= before)
        self._keep(keep, self._aside, f"rows added before addition {before} were retired")
        return self

    def thin(self, size: int) -> Self:
        """Keep ``size`` rows that cover the others (a coreset): faster, slightly coarser.

        A row kept remembers some of those it stands for, the farthest from it, in sketches of one
        byte a number, so twins of these score near 0; ids and evidence know the kept rows only.
        Held-out rows that go keep serving the calibration.

        Raises:
            SettingError: A size not above k, or above the number of rows.
        """
        check_is_fitted(self)
        if not self.k < size <= len(self.reference_):
            raise SettingError(
                f"size is {size}; keep more than k={self.k} and at most {len(self.reference_)} rows"
            )
        rows = self.reference_.rows
        draw = np.random.default_rng([self.seed, 5])
        keep = choose_coreset(self.model_.standardiser.apply(rows), size, draw)
        gone = np.setdiff1d(np.arange(len(rows)), keep)
        held = ~self.reference_.trained_on[gone]
        number = np.where(held, len(self._aside) + np.cumsum(held) - 1, -1)
        aside = self._aside.joined(self.reference_.kept(gone[held]))
        index = self._index.thinned(keep, number)
        told = f"the reference set was thinned to {size} rows"
        self._change(self.reference_.kept(keep), index, aside, told)
        return self

    def undo(self) -> Self:
        """Take the last change of the reference set back."""
        check_is_fitted(self)
        if not self._undo:
            raise SettingError("there is no change of the reference set to undo")
        self.reference_, self._index, self._aside, self.stale_ = self._undo.pop()
        return self

    def recalibrate(self) -> Self:
        """Set the threshold again, from all normal rows that the encoder has not seen.

        Rows in the reference set, or remembered there, are scored with themselves left out.
        """
        check_is_fitted(self)
        held = np.flatnonzero(~self.reference_.trained_on)
        inside = self._index.score(self.reference_.rows[held], leave_out=held)
        if len(self._aside):
            inside = np.concatenate([inside, self._index.score_gone(self._aside.rows)])
        self._set_threshold(inside)
        return self

    def calibrate(self, X: Any) -> Self:
        """Set the threshold from normal rows that are not in the reference set.

        Raises:
            LeakError: These are the rows of the reference set themselves.
            TooFewRows: Not enough rows for the false-alarm rate.

        Warns:
            ProcedureWarning: More than half of the rows stand in the reference set already.
        """
        rows, _ = self._read(X, on_missing="error")
        if len(rows) < rows_needed(self.false_alarm_rate):
            raise TooFewRows(
                f"{len(rows)} rows cannot hold a false-alarm rate of {self.false_alarm_rate:g}; "
                f"{rows_needed(self.false_alarm_rate)} are needed"
            )
        twins = share_of_twins(rows, self.reference_.rows)
        if twins == 1.0 and len(rows) >= len(self.reference_):
            raise LeakError(
                "calibrate: every row stands in the reference set, so every score would be 0; give "
                "normal rows that were held out, or call recalibrate()"
            )
        if twins > 0.5:
            warnings.warn(
                f"calibrate: {twins:.0%} of the rows stand in the reference set; if they were "
                "fitted on, the threshold is too low: call recalibrate() instead",
                ProcedureWarning,
                stacklevel=2,
            )
        self._set_threshold(self._index.score(rows))
        return self

    def _set_threshold(self, held: Floats) -> None:
        self.calibration_: Threshold = calibrate(held, self.false_alarm_rate)
        self._held_scores = np.sort(held)
        self.threshold_ = self.calibration_.value
        self.stale_ = ""

    def _next_id(self) -> int:
        ids = self.reference_.ids
        if ids.dtype.kind not in "iu":
            raise SettingError("the reference set has ids of text; give the new rows ids as well")
        taken = np.concatenate([ids, self._aside.ids])
        # Rows that were set aside keep their numbers as well.
        return max(int(taken.max(initial=-1)) + 1, len(self.decision_scores_))

    def _keep(self, keep: NDArray[np.int64], aside: Normals, told: str) -> None:
        if len(keep) <= self.model_.k:
            raise TooFewRows(
                f"{len(keep)} reference rows would be left for k={self.model_.k} neighbours; "
                "keep more"
            )
        self._change(self.reference_.kept(keep), self._index.kept(keep), aside, told)

    def _change(self, normals: Normals, index: Reference, aside: Normals, told: str) -> None:
        self._undo.append((self.reference_, self._index, self._aside, self.stale_))
        self.reference_, self._index, self._aside = normals, index, aside
        self.stale_ = told

    def _warn_stale(self) -> None:
        check_is_fitted(self)
        if self.stale_:
            warnings.warn(
                f"the threshold is stale ({self.stale_}); call recalibrate()",
                ProcedureWarning,
                stacklevel=3,
            )
