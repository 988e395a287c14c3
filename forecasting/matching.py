"""What a window of history must share with the one that asks, beside its shape.

In: rules, and origins of a panel. Out: one whole number an origin; windows are candidates where
the numbers agree. A rule is a calendar unit (``"hour"``), a number of rows (24: only windows whole
days away), ``"series"`` (only a series' own past), or a mapping from series to label (only series
of the same kind of shop). Nothing is matched by default: a filter on the calendar is a clock, and
shape often knows better.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, get_args

import numpy as np

from ..core import ColumnError, InputError, SettingError, UnknownId, join_faults
from .calendar import CalendarUnit, calendar_phase, check_units
from .columns import check_names, open_frame, to_polars
from .origins import Origins
from .panel import Panel
from .units import Steps

Rule = CalendarUnit | Literal["series"] | int | Mapping[Hashable, Hashable]
SHOWN = 5
MOST_LABELS = 1 << 20
ANYTHING = -1
"""The key of an origin that every window may answer."""


def series_labels(
    frame: Any, column: str, *, id_col: str = "unique_id"
) -> dict[Hashable, Hashable]:
    """A column that says one thing of each series, as a mapping to match by.

    Args:
        frame: One row a series, or a long frame in which the column never changes within one.
        column: Such as the kind of shop, or the country.
        id_col: Name of the column of series ids.

    Returns:
        Id -> label, for ``match=[series_labels(frame, "kind")]``.

    Raises:
        ColumnError: A column that is not there; names the closest.
        InputError: A series with two labels or none; names it.
    """
    opened = open_frame(frame)
    if missing := check_names(opened, {"column": column, "id_col": id_col}):
        raise ColumnError(join_faults(missing))
    ids, told = to_polars(opened[id_col]).to_list(), to_polars(opened[column]).to_list()
    labels: dict[Hashable, Hashable] = {}
    faults = []
    for series_id, label in dict.fromkeys(zip(ids, told, strict=True)):
        if label is None:
            faults.append(f"series {series_id!r} has a row without {column!r}")
        elif labels.setdefault(series_id, label) != label:
            first = labels[series_id]
            faults.append(f"series {series_id!r} is both {first!r} and {label!r} in {column!r}")
    if faults:
        more = f" and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise InputError(f"{join_faults(faults[:SHOWN])}{more}; give each series one label")
    return labels


class Match:
    """Rules that hold together.

    Args:
        rules: Calendar units, ``"series"``, periods in rows, or mappings from series id to label.

    Raises:
        SettingError: A rule that is none of these.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        if isinstance(rules, str | int | Mapping):
            raise SettingError(
                f"match takes a sequence of rules, found {rules!r}; put it in a list"
            )
        self.rules = tuple(rules)
        check_units([rule for rule in self.rules if isinstance(rule, str) and rule != "series"])
        for rule in self.rules:
            if isinstance(rule, bool) or not isinstance(rule, str | int | Mapping):
                units = ", ".join(get_args(CalendarUnit))
                raise SettingError(
                    f"match cannot use {rule!r}; use a unit of {units}, 'series', a period in rows "
                    "or a mapping from series to label"
                )
            if isinstance(rule, int) and rule < 2:
                raise SettingError(f"a period to match has at least 2 rows, found {rule}")

    def keys(self, panel: Panel, origins: Origins) -> Steps:
        """What must agree, as one number an origin, [O].

        Raises:
            UnknownId: A series that a mapping does not name.
            SettingError: A calendar unit of a panel without a calendar.
        """
        keys = np.zeros(len(origins), dtype=np.int64)
        for rule in self.rules:
            keys = keys * MOST_LABELS + _key(rule, panel, origins)
        return np.abs(keys)

    def describe(self) -> list[dict[str, Any]]:
        """The rules as plain settings."""
        return [
            {"labels": [[key, label] for key, label in rule.items()]}
            if isinstance(rule, Mapping)
            else {"rule": rule}
            for rule in self.rules
        ]

    @classmethod
    def build(cls, described: Sequence[Mapping[str, Any]]) -> Match:
        """The rules that :meth:`describe` described."""
        return cls([one["rule"] if "rule" in one else dict(one["labels"]) for one in described])


def _key(rule: Rule, panel: Panel, origins: Origins) -> Steps:
    if rule == "series":
        return np.array([_mark(series_id) for series_id in panel.ids])[origins.series]
    if isinstance(rule, str):
        return calendar_phase(panel, origins.steps, rule)
    if isinstance(rule, int):
        phases: Steps = origins.steps % rule
        return phases
    unknown = [series_id for series_id in panel.ids if series_id not in rule]
    if unknown:
        raise UnknownId(
            f"match names no label for {len(unknown)} of {len(panel)} series, the first "
            f"{unknown[0]!r}; add them to the mapping"
        )
    number = {label: place for place, label in enumerate(sorted(set(rule.values()), key=str))}
    labels = np.array([number[rule[series_id]] for series_id in panel.ids], dtype=np.int64)
    return labels[origins.series]


def _mark(series_id: Hashable) -> int:
    """A number that stands for a series in every panel that holds it."""
    return int.from_bytes(sha256(repr(series_id).encode()).digest()[:5])
