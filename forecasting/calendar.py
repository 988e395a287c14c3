"""What the calendar shows at a step: hour, weekday, month, season, or a phase of counted rows.

In: a panel and steps. Out: whole numbers that come round again. The clock check compares them
between neighbours; an adapter may hand them to a regressor as features. A zoned panel is read by
its own clocks. A new unit is a name in ``CalendarUnit`` and a line in ``_READ``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl

from ..core import SettingError
from .panel import Panel, Values
from .units import Steps

CalendarUnit = Literal["hour", "weekday", "month", "season"]
ALL_UNITS: tuple[CalendarUnit, ...] = get_args(CalendarUnit)
_READ: dict[CalendarUnit, tuple[int, Callable[[pl.Series], pl.Series]]] = {
    "hour": (24, lambda stamps: stamps.dt.hour()),
    "weekday": (7, lambda stamps: stamps.dt.weekday() - 1),
    "month": (12, lambda stamps: stamps.dt.month() - 1),
    # December to February, and so on.
    "season": (4, lambda stamps: stamps.dt.month() % 12 // 3),
}


def check_units(units: Sequence[str]) -> None:
    """Refuse units that do not exist."""
    wrong = [unit for unit in units if unit not in ALL_UNITS]
    if wrong:
        raise SettingError(
            f"{', '.join(map(repr, wrong))} is no calendar unit; use {', '.join(ALL_UNITS)}"
        )


def calendar_phase(panel: Panel, steps: Steps, unit: CalendarUnit) -> Steps:
    """Where in the cycle of a unit steps lie, from 0, [Q].

    Raises:
        SettingError: The panel counts its time and has no calendar.
    """
    if panel.freq.is_integer:
        raise SettingError(
            f"time is counted in {panel.schema.time_col!r}, so there is no {unit}; use timestamps, "
            "or name a period in rows where one can be given"
        )
    stamps = panel.stamps(steps)
    if unit == "hour" and stamps.dtype == pl.Date:
        return np.zeros(len(steps), dtype=np.int64)
    return _READ[unit][1](stamps).cast(pl.Int64).to_numpy()


def calendar_features(panel: Panel, steps: Steps, units: Sequence[CalendarUnit]) -> Values:
    """Each unit as a point on a circle, so that its end lies beside its beginning, [Q, 2 units]."""
    columns = []
    for unit in units:
        turn = 2 * np.pi * calendar_phase(panel, steps, unit) / _READ[unit][0]
        columns += [np.sin(turn), np.cos(turn)]
    return np.column_stack(columns)
