"""Policy: what happens when a user is asked for whom nothing is known of.

In: the users asked and those that are known. Out: nothing, a warning or an error; the answer itself
is made elsewhere, and holds an empty list or the fallback for them.
"""

from __future__ import annotations

import warnings
from typing import Literal, TypeAlias, get_args

import polars as pl

from ..core import ProcedureWarning, SettingError
from .vocabulary import Vocabulary

OnUnknown: TypeAlias = Literal["raise", "warn", "skip", "fallback"]


def admit(asked: pl.Series, known: Vocabulary, on_unknown: OnUnknown) -> None:
    """Refuse, warn of or let pass users that were never seen.

    Args:
        asked: Ids of users.
        known: Those that have a history.
        on_unknown: The policy.

    Raises:
        UnknownId: A user without a history, under ``raise``.
        SettingError: Another policy than the four.
    """
    if on_unknown not in get_args(OnUnknown):
        raise SettingError(
            f"on_unknown is {on_unknown!r}, but the policies are {', '.join(get_args(OnUnknown))}"
        )
    if on_unknown == "raise":
        known.known_rows(asked)
    unknown = int((known.rows_of(asked) < 0).sum())
    if unknown and on_unknown == "warn":
        warnings.warn(
            f"{unknown} of {len(asked)} users were never seen and get an empty list",
            ProcedureWarning,
            stacklevel=4,
        )
