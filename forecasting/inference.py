"""Which frequency do these stamps have? Exactly one answer, or a refusal that shows the deltas.

In: the stamps of a panel, sorted within each series. Out: a :class:`Frequency` that every
distance between neighbouring rows is a multiple of and that most of them equal, so that a few
gaps do not hide the step and a guess is never made. To recognise another calendar, add a reading
to :func:`infer_frequency`.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import polars as pl

from ..core import InputError
from .frequency import MONTHS, WEEKDAYS, Frequency, to_instants, zone_of
from .units import DAY, FIRST_WEEKDAY, HOUR, MINUTE, SECOND, SHORTEST_MONTH, UNITS, Steps, to_wall

# Clock changes make days of 23 to 25 hours; a distance shorter than this is not a day.
SHORTEST_DAY = 20 * HOUR


def infer_frequency(stamps: pl.Series, offsets: Steps | None = None) -> Frequency:
    """Find the one frequency that explains the distances between neighbouring stamps.

    Args:
        stamps: Dates, datetimes or integers without nulls, ascending within each series.
        offsets: First row of each series and the total, [S + 1]; one series when left out.

    Returns:
        The frequency, aligned to the stamps: all distances are multiples of it and more than
        half are one step of it.

    Raises:
        InputError: When no series has two stamps, or no frequency explains the distances; the
            message shows those found.

    >>> from datetime import datetime
    >>> str(infer_frequency(pl.Series([datetime(2024, 1, 1), datetime(2024, 2, 1)])))
    'MS'
    """
    offsets = np.array([0, len(stamps)]) if offsets is None else offsets
    instants = to_instants(stamps)
    deltas = _deltas(instants, offsets)
    if not len(deltas):
        raise InputError(
            "the frequency cannot be read from stamps that never follow one another; pass freq="
        )
    if stamps.dtype.is_integer():
        step = _common(deltas)
        if step is not None:
            return Frequency.parse(step).aligned(stamps)
    elif deltas.min() < SHORTEST_DAY:
        step = _common(deltas)
        if step is not None:
            return Frequency.parse(_tick_alias(step)).aligned(stamps)
    else:
        alias = _calendar_alias(to_wall(instants, zone_of(stamps.dtype)), offsets)
        if alias is not None:
            return Frequency.parse(alias).aligned(stamps)
    raise InputError(
        "the frequency is ambiguous: neighbouring rows lie "
        f"{_told(deltas, stamps.dtype.is_integer())} apart; pass freq="
    )


def _deltas(values: Steps, offsets: Steps) -> Steps:
    """Distances between neighbouring rows of one series, without repeats of a stamp."""
    deltas: Steps = np.diff(values)
    inner = deltas != 0
    inner[offsets[1:-1] - 1] = False
    kept: Steps = deltas[inner]
    return kept


def _common(deltas: Steps) -> int | None:
    """The shortest distance, if it divides all others and is the usual one."""
    if not len(deltas):
        return None
    step = int(deltas.min())
    usual = int(np.count_nonzero(deltas == step)) * 2 > len(deltas)
    return step if step > 0 and usual and not (deltas % step).any() else None


def _calendar_alias(walls: Steps, offsets: Steps) -> str | None:
    """Months, then business days, then days and weeks; None when none fits."""
    return _months_alias(walls, offsets) or _days_alias(walls, offsets)


def _months_alias(walls: Steps, offsets: Steps) -> str | None:
    months, from_start = UNITS["month_start"].number(walls)
    distances = _deltas(months, offsets)
    step = _common(distances)
    if step is None or len(distances) < len(_deltas(walls, offsets)):
        return None
    first = int(months[0])
    if from_start.min() == from_start.max() and from_start[0] < SHORTEST_MONTH:
        return _month_alias(step, "S" if from_start[0] < DAY else "", first)
    from_end = UNITS["month_end"].number(walls)[1]
    at_end = from_end.min() == from_end.max() and from_end[0] >= 0
    return _month_alias(step, "E", first) if at_end else None


def _days_alias(walls: Steps, offsets: Steps) -> str | None:
    days, clock = UNITS["day"].number(walls)
    if clock.min() != clock.max():
        return None
    distances = _deltas(days, offsets)
    weekdays = (days + FIRST_WEEKDAY) % 7
    if distances.min() != distances.max() and weekdays.max() < 5:
        business = _deltas(UNITS["business"].number(walls)[0], offsets)
        step = _common(business)
        if step == 1 or (step is not None and business.max() == step):
            return f"{step}B"
    step = _common(distances)
    if step == 7 and weekdays.min() == weekdays.max():
        return f"W-{WEEKDAYS[int(weekdays[0])]}"
    return None if step is None else f"{step // 7}W" if step % 7 == 0 else f"{step}D"


def _month_alias(step: int, place: str, first: int) -> str:
    """Alias of a step of months; ``place`` is S, E or empty for a day in between."""
    if not place:
        return f"{step}mo"
    if step == 3:
        # Quarters are named by the first month that carries one, as pandas does for both ends.
        return f"Q{place}-{MONTHS[first % 3 if place == 'S' else first % 3 + 9]}"
    if step == 12:
        return f"Y{place}-{MONTHS[first % 12]}"
    return f"{step}M{place}"


def _tick_alias(step: int) -> str:
    """The largest clock unit that divides the step, with its count."""
    clock = (("h", HOUR), ("min", MINUTE), ("s", SECOND), ("ms", 1_000), ("us", 1))
    alias, size = next((alias, size) for alias, size in clock if step % size == 0)
    return f"{step // size}{alias}"


def _told(deltas: Steps, integer: bool) -> str:
    """The most frequent distances, in words."""
    found, counts = np.unique(deltas, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    told = [
        f"{found[i] if integer else timedelta(microseconds=int(found[i]))} ({counts[i]} times)"
        for i in order[:4]
    ]
    more = f" and {len(order) - 4} other distances" if len(order) > 4 else ""
    return ", ".join(told) + more
