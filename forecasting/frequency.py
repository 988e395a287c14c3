"""The step of a panel: from timestamps to whole numbers on one calendar grid, and back.

A :class:`Frequency` numbers time: hours since 1970 for ``"h"``, months since 1970 for ``"MS"``,
business days for ``"B"``, ``ds // k`` for integer time. Where the grid begins (17:34 for a
5-minute series, Wednesdays for a weekly one) is its phase, taken from the data by
:meth:`Frequency.aligned` and then shared by the whole panel. Everything behind the reader speaks
steps; only answers speak timestamps again. To add an alias, add it to ``ALIASES``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from ..core import InputError, SettingError
from .units import (
    DAY,
    FIRST_WEEKDAY,
    HOUR,
    MINUTE,
    SECOND,
    SHORTEST_MONTH,
    UNITS,
    Steps,
    from_wall,
    to_wall,
)

# Alias -> (unit, how many of it make one step). Both spellings of pandas and those of polars.
ALIASES: dict[str, tuple[str, int]] = {
    **dict.fromkeys(("us", "U"), ("tick", 1)),
    **dict.fromkeys(("ms", "L"), ("tick", 1_000)),
    **dict.fromkeys(("s", "S"), ("tick", SECOND)),
    **dict.fromkeys(("min", "T", "m"), ("tick", MINUTE)),
    **dict.fromkeys(("h", "H"), ("tick", HOUR)),
    **dict.fromkeys(("D", "d"), ("day", 1)),
    **dict.fromkeys(("W", "w"), ("day", 7)),
    "B": ("business", 1),
    "MS": ("month_start", 1),
    "QS": ("month_start", 3),
    **dict.fromkeys(("YS", "AS"), ("month_start", 12)),
    **dict.fromkeys(("ME", "M"), ("month_end", 1)),
    **dict.fromkeys(("QE", "Q"), ("month_end", 3)),
    **dict.fromkeys(("YE", "Y", "A"), ("month_end", 12)),
    # Polars writes no start or end: the place within the month comes from the data.
    "mo": ("month", 1),
    "q": ("month", 3),
    "y": ("month", 12),
}
WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_SPELLING = re.compile(r"(\d*)([A-Za-z]+)(?:-([A-Z]{3}))?")


class Located(NamedTuple):
    """Where stamps lie on a grid.

    Attributes:
        steps: Step number of each stamp, int64; of the step before it where it is off the grid.
        on_grid: Whether the stamp is exactly on the grid, bool.
    """

    steps: Steps
    on_grid: np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Frequency:
    """One step of calendar time, and where its grid begins.

    Build it with :meth:`parse`; a parsed frequency has no phase until :meth:`aligned` takes it
    from data. Source: ours; the aliases are those of pandas and polars.

    Attributes:
        alias: How it is written: ``"h"``, ``"15min"``, ``"W-SUN"``; a number for integer time.
        unit: What is counted: ``integer``, ``tick`` (microseconds), ``day``, ``business``,
            ``month_start``, ``month_end``, or ``month`` while start or end is undecided.
        multiple: Units to one step, at least 1.
        phase: Number of the unit at which step 0 lies, below ``multiple``; None until aligned.
        within: Microseconds into the unit (a time of day, a day of the month); None until aligned.
    """

    alias: str
    unit: str
    multiple: int
    phase: int | None = None
    within: int | None = None

    @classmethod
    def parse(cls, freq: str | int | Frequency) -> Frequency:
        """Read a frequency as pandas, polars or Nixtla write it.

        Args:
            freq: ``"h"``, ``"15min"``, ``"D"``, ``"B"``, ``"W-SUN"``, ``"MS"``, ``"QS-FEB"``,
                ``"1mo"``; a whole number for integer time; a Frequency is handed back.

        Returns:
            The frequency; without an anchor its phase is left to the data.

        Raises:
            SettingError: When it is none of these.

        >>> Frequency.parse("15min").multiple == 15 * 60 * 1_000_000
        True
        >>> str(Frequency.parse("1d")), str(Frequency.parse(2))
        ('D', '2')
        """
        if isinstance(freq, Frequency):
            return freq
        if isinstance(freq, int) and not isinstance(freq, bool):
            if freq < 1:
                raise SettingError(f"freq={freq} is no step; use a whole number of at least 1")
            return cls(str(freq), "integer", freq)
        spelt = _SPELLING.fullmatch(str(freq))
        if spelt is None or spelt[2] not in ALIASES or spelt[1].startswith("0"):
            raise SettingError(
                f"freq={freq!r} is not a frequency; write a whole number for integer time, or an "
                f"optional number and one of {', '.join(ALIASES)}"
            )
        unit, multiple = ALIASES[spelt[2]]
        count = int(spelt[1] or 1)
        phase = (
            None if spelt[3] is None else _anchor(str(freq), spelt[2], spelt[3], count, multiple)
        )
        # Of several spellings of one step the first in the table is the canonical one.
        name = next(alias for alias, known in ALIASES.items() if known == (unit, multiple))
        alias = f"{count if count > 1 else ''}{name}{'-' + spelt[3] if spelt[3] else ''}"
        return cls(alias, unit, multiple * count, phase)

    def __str__(self) -> str:
        return self.alias

    @property
    def is_integer(self) -> bool:
        """Whether time is counted rather than dated."""
        return self.unit == "integer"

    def aligned(self, stamps: pl.Series) -> Frequency:
        """The same frequency with the phase that most of these stamps share.

        Args:
            stamps: Dates, datetimes or integers, at least one, without nulls.

        Returns:
            A frequency that knows where its grid begins; anchors that were written stay.

        Raises:
            InputError: When the frequency and the kind of time do not fit together.

        >>> from datetime import datetime
        >>> stamps = pl.Series([datetime(2024, 1, 1, 17, 34)])
        >>> Frequency.parse("5min").aligned(stamps).phase == 4 * 60 * 1_000_000
        True
        """
        self._check_kind(stamps.dtype)
        walls = self._walls(to_instants(stamps), zone_of(stamps.dtype))
        unit = _place_in_month(walls) if self.unit == "month" else self.unit
        numbers, rest = UNITS[unit].number(walls)
        within = self.within
        if within is None:
            # A day of the month is part of the grid only where neither start nor end was asked.
            longest = SHORTEST_MONTH if self.unit == "month" else DAY
            within = _usual(rest)
            within = within if 0 <= within < longest else within % DAY
        phase = _usual(numbers % self.multiple) if self.phase is None else self.phase
        return replace(self, unit=unit, phase=phase, within=within)

    def locate(self, stamps: pl.Series) -> Located:
        """Number the stamps, and say which of them are on the grid.

        Args:
            stamps: Dates, datetimes or integers without nulls, of the kind it was aligned to.
        """
        self._check_kind(stamps.dtype)
        instants, zone = to_instants(stamps), zone_of(stamps.dtype)
        numbers, rest = UNITS[self.unit].number(self._walls(instants, zone))
        steps, beyond = np.divmod(numbers - self._phase, self.multiple)
        on_grid = (beyond == 0) & (rest == self.within)
        if zone is not None and not on_grid.all():
            # Where the clocks jump over midnight, the day begins an hour late.
            on_grid[~on_grid] = self._instants(steps[~on_grid], zone) == instants[~on_grid]
        return Located(steps, on_grid)

    def steps(self, stamps: pl.Series) -> Steps:
        """Number stamps that must all be on the grid.

        Raises:
            InputError: When a stamp lies between two steps; names the first.
        """
        steps, on_grid = self.locate(stamps)
        if not on_grid.all():
            row = int(np.argmin(on_grid))
            before = self.stamps(steps[row : row + 1], stamps.dtype)[0]
            raise InputError(
                f"{stamps[row]} is off the grid of freq={self.alias!r}; the step before it is "
                f"{before}"
            )
        return steps

    def stamps(self, steps: Steps, dtype: pl.DataType) -> pl.Series:
        """Timestamps of steps, in the kind, unit and zone of ``dtype``."""
        instants = self._instants(np.asarray(steps, dtype=np.int64), zone_of(dtype))
        return from_instants(instants, dtype)

    @property
    def _phase(self) -> int:
        if self.phase is None:
            raise SettingError(
                f"freq={self.alias!r} has no phase yet; call aligned(stamps) before numbering"
            )
        return self.phase

    def _walls(self, instants: Steps, zone: str | None) -> Steps:
        return instants if self.unit in ("integer", "tick") else to_wall(instants, zone)

    def _instants(self, steps: Steps, zone: str | None) -> Steps:
        walls = UNITS[self.unit].instants(steps * self.multiple + self._phase) + (self.within or 0)
        return walls if self.unit in ("integer", "tick") else from_wall(walls, zone)

    def _check_kind(self, dtype: pl.DataType) -> None:
        if self.is_integer != dtype.is_integer():
            cure = "a whole number such as freq=1" if dtype.is_integer() else "an alias such as 'h'"
            raise InputError(
                f"freq={self.alias!r} does not fit a time column of {dtype}; use {cure}"
            )
        if dtype == pl.Date and self.unit == "tick":
            raise InputError(
                f"freq={self.alias!r} is shorter than a day but the time column holds dates; "
                "use datetimes, or a frequency of days or longer"
            )


def zone_of(dtype: pl.DataType) -> str | None:
    """Time zone of a datetime dtype, or None."""
    return dtype.time_zone if isinstance(dtype, pl.Datetime) else None


def to_instants(stamps: pl.Series) -> Steps:
    """Microseconds since 1970 (UTC where zoned) of dates and datetimes; integers as they are."""
    if stamps.dtype.is_integer():
        return stamps.cast(pl.Int64).to_numpy()
    zone = zone_of(stamps.dtype)
    return stamps.cast(pl.Datetime("us", zone)).to_physical().to_numpy()


def from_instants(instants: Steps, dtype: pl.DataType) -> pl.Series:
    """The reverse of :func:`to_instants`."""
    stamps = pl.Series(instants, dtype=pl.Int64)
    if dtype.is_integer():
        return stamps.cast(dtype)
    return stamps.cast(pl.Datetime("us", zone_of(dtype))).cast(dtype)


def _anchor(freq: str, alias: str, anchor: str, count: int, multiple: int) -> int:
    """Number of the unit at which an anchored grid begins."""
    if count == 1 and alias in ("W", "w") and anchor in WEEKDAYS:
        return (WEEKDAYS.index(anchor) - FIRST_WEEKDAY) % multiple
    if count == 1 and alias[0] in "QYA" and anchor in MONTHS:
        return MONTHS.index(anchor) % multiple
    raise SettingError(
        f"freq={freq!r} has an anchor that does not fit; anchor single weeks by a weekday "
        "('W-SUN') and single quarters or years by a month ('QS-FEB'), else leave it out: the "
        "phase is taken from the data"
    )


def _place_in_month(walls: Steps) -> str:
    """Whether stamps are counted from the first or from the last day of their months."""
    from_start = UNITS["month_start"].number(walls)[1]
    from_end = UNITS["month_end"].number(walls)[1]
    fixed = from_start.min() == from_start.max() and from_start[0] < SHORTEST_MONTH
    return "month_end" if not fixed and bool((from_end >= 0).all()) else "month_start"


def _usual(values: Steps) -> int:
    """The most frequent value; the smallest of several."""
    if bool((values == values[0]).all()):
        return int(values[0])
    found, counts = np.unique(values, return_counts=True)
    return int(found[np.argmax(counts)])
