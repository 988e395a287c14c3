"""Numbering calendar units: microseconds, days, business days and months since 1970.

In: instants as int64 microseconds. Out: the number of the unit an instant falls in and how far
into that unit it lies, and back. Months are months of the calendar, never a fixed length of time.

Instants of zone-aware columns are kept in UTC; the calendar of a zone (its days, its months) is
reached through :func:`to_wall` and :func:`from_wall`. To add a unit, subclass :class:`Unit` and
name it in ``UNITS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import polars as pl
from numpy.typing import NDArray

Steps = NDArray[np.int64]

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
# 1 January 1970 was a Thursday: the weekday of day 0, with Monday as 0.
FIRST_WEEKDAY = 3
# The first day of the month that some months lack.
SHORTEST_MONTH = 28 * DAY


class Unit(ABC):
    """One way of cutting time into numbered pieces."""

    @abstractmethod
    def number(self, instants: Steps) -> tuple[Steps, Steps]:
        """Number of the unit and microseconds into it; negative where it has no such place."""

    @abstractmethod
    def instants(self, numbers: Steps) -> Steps:
        """First microsecond of each unit (of its last day, for month ends)."""


class Ticks(Unit):
    """Microseconds themselves; also the unit of integer time columns."""

    def number(self, instants: Steps) -> tuple[Steps, Steps]:  # noqa: D102
        return instants, np.zeros_like(instants)

    def instants(self, numbers: Steps) -> Steps:  # noqa: D102
        return numbers


class Days(Unit):
    """Days of the calendar."""

    def number(self, instants: Steps) -> tuple[Steps, Steps]:  # noqa: D102
        return np.divmod(instants, DAY)

    def instants(self, numbers: Steps) -> Steps:  # noqa: D102
        return numbers * DAY


class BusinessDays(Unit):
    """Mondays to Fridays, five to a week; holidays count, as they do not lie in the calendar."""

    def number(self, instants: Steps) -> tuple[Steps, Steps]:  # noqa: D102
        days, rest = np.divmod(instants, DAY)
        weeks, weekdays = np.divmod(days + FIRST_WEEKDAY, 7)
        return weeks * 5 + np.minimum(weekdays, 4), np.where(weekdays < 5, rest, -1)

    def instants(self, numbers: Steps) -> Steps:  # noqa: D102
        weeks, weekdays = np.divmod(numbers, 5)
        return (weeks * 7 + weekdays - FIRST_WEEKDAY) * DAY


class MonthStarts(Unit):
    """Months, seen from their first day."""

    def number(self, instants: Steps) -> tuple[Steps, Steps]:  # noqa: D102
        months = instants.view("M8[us]").astype("M8[M]").astype(np.int64)
        return months, instants - self.instants(months)

    def instants(self, numbers: Steps) -> Steps:  # noqa: D102
        return numbers.astype("M8[M]").astype("M8[us]").astype(np.int64)


class MonthEnds(MonthStarts):
    """Months, seen from their last day."""

    def instants(self, numbers: Steps) -> Steps:  # noqa: D102
        return super().instants(numbers + 1) - DAY


UNITS: dict[str, Unit] = {
    "integer": Ticks(),
    "tick": Ticks(),
    "day": Days(),
    "business": BusinessDays(),
    "month_start": MonthStarts(),
    "month_end": MonthEnds(),
}


def to_wall(instants: Steps, zone: str | None) -> Steps:
    """What the clocks of the zone show at UTC instants; unchanged without a zone."""
    if zone is None or zone == "UTC":
        return instants
    stamps = pl.Series(instants).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)
    return stamps.dt.replace_time_zone(None).to_physical().to_numpy()


def from_wall(walls: Steps, zone: str | None) -> Steps:
    """UTC instants at which the clocks of the zone show these times.

    A time that occurs twice (clocks set back) is the earlier one; a time that never occurs
    (clocks set forward over midnight, in some zones) is the same time one hour later.
    """
    if zone is None or zone == "UTC":
        return walls
    stamps = pl.Series(walls).cast(pl.Datetime("us"))
    here = stamps.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    if here.null_count():
        # Only the missing hours may be moved: an hour later may itself not exist elsewhere.
        moved = walls + HOUR * here.is_null().to_numpy()
        return from_wall(moved, zone)
    return here.to_physical().to_numpy()
