"""Other people's models in the same backtest.

In: a scikit-learn regressor, or a model of Nixtla's shape (``fit(df)``, ``predict(h)``). Out: a
:class:`Forecaster` that stands in every table beside ours, under the same cutoffs and the same
masks. A regressor is fitted on windows and walks on like our own models; a model of Nixtla's shape
speaks only from the end of what it was fitted on, so it is fitted anew at every cutoff, on a frame
that ends there. For a model of another shape, subclass :class:`Forecaster`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Literal, Self, get_args

import numpy as np

from ..core import SettingError, TooFewRows
from .calendar import CalendarUnit, calendar_features, check_units
from .frames import Gaps
from .frequency import Frequency
from .model import Forecaster
from .normalisers import Normaliser, series_units, training_deviations
from .origins import Origins, pasts
from .panel import Panel, Values
from .windows import Windows

Outputs = Literal["each", "joint"]
MOST_WINDOWS = 100_000


class WindowRegressor(Forecaster):
    """Any scikit-learn regressor, on windows: the past in, the continuation out.

    Windows of all series stand together, each less its base and in units of its series.

    Args:
        horizon: Steps to forecast, H.
        lookback: Rows it looks at, L.
        regressor: Anything with ``fit(X, y)`` and ``predict(X)``; it is copied, not changed.
        outputs: ``each`` fits one copy a step of the horizon, which every regressor can do;
            ``joint`` fits one on all steps, for those that take ``y`` [N, H].
        normaliser: Takes base and scale off windows; the last value by default.
        calendar: Units of the calendar at the origin that are features too, such as ``"hour"``;
            none by default, because a model that reads the clock need not look at the past.
        most_windows: Fit on at most so many windows, evenly spread.
        freq, gaps, alias: As in :class:`Forecaster`; the alias is the regressor's class by default.

    Raises:
        SettingError: No regressor, or a setting that does not exist.
    """

    def __init__(
        self,
        horizon: int,
        lookback: int,
        regressor: Any,
        *,
        outputs: Outputs = "each",
        normaliser: Normaliser | None = None,
        calendar: Sequence[CalendarUnit] = (),
        most_windows: int = MOST_WINDOWS,
        freq: str | int | Frequency | None = None,
        gaps: Gaps = "error",
        alias: str | None = None,
    ) -> None:
        _check_methods(regressor, "regressor", "fit(X, y) and predict(X)")
        if outputs not in get_args(Outputs):
            raise SettingError(f"outputs={outputs!r} is not one of {', '.join(get_args(Outputs))}")
        if most_windows < 1:
            raise SettingError(f"most_windows starts at 1, found {most_windows}")
        check_units(calendar)
        alias = alias or type(regressor).__name__
        super().__init__(horizon, lookback=lookback, freq=freq, gaps=gaps, alias=alias)
        self.regressor = regressor
        self.outputs: Outputs = outputs
        self.normaliser = normaliser or Normaliser("last")
        self.calendar = tuple(calendar)
        self.most_windows = most_windows

    def learn(self, panel: Panel) -> None:
        """Fit on the complete windows of a panel."""
        windows = Windows(panel, self.lookback, self.horizon)
        if not len(windows):
            raise TooFewRows(
                f"no series has {self.lookback} + {self.horizon} rows in a row to learn from; "
                "shorten the lookback or the horizon, or close the gaps"
            )
        units = training_deviations(panel)
        self.deviations_ = panel.by_id(units)
        rows = np.arange(0, len(windows), -(-len(windows) // self.most_windows))
        past, future = windows.pasts(rows), windows.futures(rows)
        base, scale = self.normaliser.measure(past, units[windows.series_of(rows)])
        features = self._features(panel, windows.origin_steps(rows), past, base, scale)
        target = self.normaliser.apply(future, base, scale)
        parts = [target] if self.outputs == "joint" else list(target.T)
        self.regressors_ = [copy.deepcopy(self.regressor).fit(features, part) for part in parts]

    def expect(self, panel: Panel, origins: Origins) -> Values:
        """What the regressor says after each origin, [O, H]."""
        past = pasts(panel, origins, self.lookback)
        units = series_units(panel, self.deviations_, self.lookback)[origins.series]
        base, scale = self.normaliser.measure(past, units)
        features = self._features(panel, origins.steps, past, base, scale)
        said = [np.asarray(one.predict(features), dtype=np.float64) for one in self.regressors_]
        whole = said[0].reshape(len(origins), -1) if self.outputs == "joint" else np.stack(said, 1)
        return self.normaliser.undo(whole, base, scale)

    def _features(
        self, panel: Panel, steps: Any, past: Values, base: Values, scale: Values
    ) -> Values:
        shape = self.normaliser.apply(past, base, scale)
        if not self.calendar:
            return shape
        return np.hstack([shape, calendar_features(panel, steps, self.calendar)])


def boosted_trees(
    horizon: int, lookback: int, *, seed: int = 0, alias: str = "LightGBM"
) -> WindowRegressor:
    """LightGBM on windows, one model a step, with its own defaults.

    Args:
        horizon: Steps to forecast, H.
        lookback: Rows it looks at, L.
        seed: Of its sampling.
        alias: Name of its column.

    Raises:
        SettingError: LightGBM is not installed.
    """
    try:
        from lightgbm import LGBMRegressor  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise SettingError(
            "LightGBM is not installed; pip install 'likewise[baselines]' brings it"
        ) from None
    # One thread and a fixed order of summation: the same seed gives the same trees.
    trees = LGBMRegressor(random_state=seed, n_jobs=1, deterministic=True, verbose=-1)
    return WindowRegressor(horizon, lookback, _PlainArrays(trees), alias=alias)


class _PlainArrays:
    """LightGBM names the columns of plain arrays and then warns that plain arrays have no names."""

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    def fit(self, features: Values, target: Values) -> Self:
        self.fitted_ = self.booster.fit(features, target).booster_
        return self

    def predict(self, features: Values) -> Values:
        said: Values = self.fitted_.predict(features)
        return said


def _check_methods(model: Any, name: str, wanted: str) -> None:
    if isinstance(model, type):
        raise SettingError(f"{name} is the class {model.__name__}; pass an instance of it")
    if not (callable(getattr(model, "fit", None)) and callable(getattr(model, "predict", None))):
        raise SettingError(f"{name} {type(model).__name__} lacks {wanted}")
