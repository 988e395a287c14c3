"""Every error the library raises, drawn as one tree.

Each error also inherits the builtin that a caller would expect, so ``except ValueError`` keeps
working for people who have never read this file. A message is one sentence that says what was
wrong, where, what was found, and the cure; several faults of one input are told together with
:func:`join_faults`.

::

    LikewiseError
    ├── InputError (ValueError)            the data is not what the call needs
    │   ├── ShapeError                     wrong rank, width or length
    │   ├── NonFiniteError                 NaN or infinity, by row
    │   ├── TooFewRows                     not enough rows for what was asked
    │   ├── DuplicateRows                  an id or a timestamp twice
    │   ├── UnsortedRows                   out of order where order matters
    │   └── ColumnError                    a column missing or of the wrong kind
    ├── SettingError (ValueError)          a setting that cannot work
    │   ├── DegenerateTemperature          zero, negative or not a number
    │   └── TooFewNegatives                a row with nothing to be told apart from
    ├── GeometryError (RuntimeError)       the embedding space is broken
    │   └── RepresentationCollapse         everything points the same way
    ├── GradientError (RuntimeError)       a derivative that is not computed here
    ├── ProcessLost (RuntimeError)         another process of a distributed run ended
    ├── VectorIndexError (RuntimeError)    the index cannot answer honestly
    │   ├── MetricMismatch                 asked in another metric than it was built for
    │   ├── StaleIndex                     vectors of another encoder
    │   └── RecallGateFailed               the approximate answer is too far from the exact one
    ├── LeakError (ValueError)             something from after the cutoff
    ├── UnknownId (LookupError)            an id that was never seen
    ├── NotFitted (AttributeError)         asked before it was fitted
    └── BundleError (RuntimeError)         a saved folder that cannot be trusted
        ├── ChecksumMismatch               a file is not the one that was saved
        ├── BundleFormatError              missing, truncated, or a newer format
        └── BundleKindError                a bundle of another kind of model

    DimensionalCollapse (UserWarning)      the space uses far fewer dimensions than it has
    ProcedureWarning (UserWarning)         something legal that usually is a mistake
"""

from __future__ import annotations

from collections.abc import Sequence


class LikewiseError(Exception):
    """Root of everything the library raises on purpose."""


class InputError(LikewiseError, ValueError):
    """The data is not what the call needs."""


class ShapeError(InputError):
    """An array of the wrong rank, width or length."""


class NonFiniteError(InputError):
    """NaN or infinity where a number is needed."""


class TooFewRows(InputError):
    """Not enough rows for what was asked."""


class DuplicateRows(InputError):
    """An id or a timestamp that stands twice."""


class UnsortedRows(InputError):
    """Rows out of order where order carries meaning."""


class ColumnError(InputError):
    """A column that is missing or of the wrong kind."""


class SettingError(LikewiseError, ValueError):
    """A setting that cannot work."""


class DegenerateTemperature(SettingError):
    """A temperature at which the softmax is no longer a comparison."""


class TooFewNegatives(SettingError):
    """A row with (almost) nothing to be told apart from."""


class GeometryError(LikewiseError, RuntimeError):
    """The embedding space is broken."""


class RepresentationCollapse(GeometryError):
    """Everything points the same way."""


class GradientError(LikewiseError, RuntimeError):
    """A derivative that the library does not compute."""


class ProcessLost(LikewiseError, RuntimeError):
    """Another process of a distributed run ended, so this one cannot go on."""


class VectorIndexError(LikewiseError, RuntimeError):
    """The index cannot answer honestly."""


class MetricMismatch(VectorIndexError):
    """Asked in another metric than the index was built for."""


class StaleIndex(VectorIndexError):
    """Vectors that come from another encoder than the one in use."""


class RecallGateFailed(VectorIndexError):
    """The approximate answer is too far from the exact one."""


class LeakError(LikewiseError, ValueError):
    """Something from after the cutoff was about to be used."""


class UnknownId(LikewiseError, LookupError):
    """An id that was never seen."""


class NotFitted(LikewiseError, AttributeError):
    """A model was asked for what only fitting gives it."""


class BundleError(LikewiseError, RuntimeError):
    """A saved folder that cannot be trusted."""


class ChecksumMismatch(BundleError):
    """A file is not the one that was saved."""


class BundleFormatError(BundleError):
    """A bundle that is missing, truncated, or of a newer format."""


class BundleKindError(BundleError):
    """A bundle of another kind of model."""


class DimensionalCollapse(UserWarning):
    """The embedding uses far fewer dimensions than it has."""


class ProcedureWarning(UserWarning):
    """Something legal that usually is a mistake."""


def join_faults(faults: Sequence[str], *, shown: int = 8) -> str:
    """Tell several faults in one message.

    Args:
        faults: One sentence a fault, in reading order.
        shown: How many are spelled out before the rest is only counted.

    Returns:
        The single fault itself, or a counted list, one fault a line.

    >>> join_faults(["row 3: NaN in y"])
    'row 3: NaN in y'
    >>> print(join_faults(["row 3: NaN in y", "row 9: NaN in y"]))
    2 faults:
      - row 3: NaN in y
      - row 9: NaN in y
    """
    if len(faults) == 1:
        return faults[0]
    lines = [f"{len(faults)} faults:"] + [f"  - {fault}" for fault in faults[:shown]]
    if len(faults) > shown:
        lines.append(f"  - and {len(faults) - shown} more")
    return "\n".join(lines)
