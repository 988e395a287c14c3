"""Settings from a TOML file, checked to the last key.

:func:`read_settings` decodes a file, or one table of it, into a msgspec Struct.
:func:`config_option` gives a command ``--config FILE``: its allowed keys are the command's own
options, flags on the command line win over the file, and one file can serve several commands
because each reads the table named after it::

    [forecast.backtest]
    horizon = 24
    n_windows = 10

Every fault of a file is told at once, with the file, the key, what was found and what is allowed.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import click
import msgspec

from ..errors import SettingError, join_faults

Settings = TypeVar("Settings", bound=msgspec.Struct)
Command = TypeVar("Command", bound=Callable[..., Any])

_PLAIN_TYPES: dict[type[click.ParamType[Any]], type] = {
    click.types.BoolParamType: bool,
    click.types.IntParamType: int,
    click.types.FloatParamType: float,
}


def read_settings(path: str | Path, kind: type[Settings], *, table: Sequence[str] = ()) -> Settings:
    """Read a TOML file, or one table of it, into a Struct.

    Args:
        path: The file.
        kind: A msgspec Struct; nested Structs are tables within the table.
        table: Names of the tables to walk into, outermost first; other tables are left alone.

    Returns:
        The settings; keys the file does not name keep the Struct's defaults.

    Raises:
        SettingError: The file cannot be read or is not TOML, the table is missing, a key is
            unknown or a value of the wrong type.
    """
    content: Any = _read_toml(Path(path))
    for depth, name in enumerate(table):
        if not isinstance(content.get(name), dict):
            wanted = ".".join(table[: depth + 1])
            found = ", ".join(sorted(content)) or "nothing"
            raise SettingError(f"{path}: no table [{wanted}], found {found}; add the table")
        content = content[name]
    faults: list[str] = []
    settings = _decode(content, kind, table=table, faults=faults)
    if settings is None:
        raise SettingError(f"{path}: {join_faults(faults)}")
    return settings


def config_option(command: Command) -> Command:
    """Give a click command the option ``--config FILE``.

    The file's table is named after the command, without the program's name: ``likewise forecast
    backtest`` reads ``[forecast.backtest]``. Its keys are the command's options, spelt as Python
    names.
    """
    return click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        is_eager=True,
        expose_value=False,
        callback=_load_defaults,
        help="TOML file with settings; flags win over it.",
    )(command)


def _load_defaults(ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    table = ctx.command_path.split()[1:]
    options = [
        option
        for option in ctx.command.params
        if isinstance(option, click.Option) and option.expose_value and option.name
    ]
    fields = [(str(o.name), _toml_type(o) | msgspec.UnsetType, msgspec.UNSET) for o in options]
    kind = msgspec.defstruct("Options", fields, frozen=True, kw_only=True)
    settings = read_settings(path, kind, table=table)
    given = msgspec.structs.asdict(settings).items()
    ctx.default_map = {key: value for key, value in given if value is not msgspec.UNSET}


def _toml_type(option: click.Option) -> Any:
    """The type a TOML value must have to stand for this option."""
    kind = option.type
    if isinstance(kind, click.Choice):
        plain: Any = Literal[tuple(map(str, kind.choices))]
    elif isinstance(kind, click.IntRange | click.FloatRange):
        number = int if isinstance(kind, click.IntRange) else float
        bounds: dict[str, Any] = {
            "gt" if kind.min_open else "ge": kind.min,
            "lt" if kind.max_open else "le": kind.max,
        }
        plain = Annotated[number, msgspec.Meta(**bounds)]
    else:
        plain = _PLAIN_TYPES.get(type(kind), str)
    return list[plain] if option.multiple or option.nargs != 1 else plain


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path}: not a TOML file ({error}); correct it there") from error


def _decode(
    content: Mapping[str, Any], kind: type[Settings], *, table: Sequence[str], faults: list[str]
) -> Settings | None:
    """Fill the Struct; None when a fault, added to ``faults``, stands in the way."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    named = {key: ".".join((*table, key)) for key in (*fields, *content)}
    faults_before = len(faults)
    decoded: dict[str, Any] = {}
    for key, value in content.items():
        if key not in fields:
            faults.append(_unknown(named[key], key, fields))
        elif _is_struct(fields[key].type) and isinstance(value, dict):
            inner = _decode(value, fields[key].type, table=(*table, key), faults=faults)
            decoded[fields[key].name] = inner
        else:
            try:
                decoded[fields[key].name] = msgspec.convert(value, fields[key].type)
            except msgspec.ValidationError as error:
                expected = _expectation(fields[key].type, error)
                faults.append(f"{named[key]}: {expected}, found {value!r}")
    missing = [key for key, field in fields.items() if field.required and key not in content]
    faults += [f"{named[key]}: missing, and it has no default" for key in missing]
    return kind(**decoded) if len(faults) == faults_before else None


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _unknown(where: str, key: str, allowed: Iterable[str]) -> str:
    allowed = sorted(allowed)
    near = difflib.get_close_matches(key, allowed, n=1)
    meant = f", perhaps {near[0]} was meant" if near else ""
    return f"{where}: unknown key{meant}; allowed are {', '.join(allowed) or 'none'}"


def _expectation(kind: Any, error: msgspec.ValidationError) -> str:
    """What the value should have been; msgspec does not list the choices, so we do."""
    branches = (kind, *get_args(kind))
    choices = [choice for b in branches if get_origin(b) is Literal for choice in get_args(b)]
    if choices and "enum value" in str(error):
        return f"expected one of {', '.join(map(str, choices))}"
    return str(error)[:1].lower() + str(error)[1:]
