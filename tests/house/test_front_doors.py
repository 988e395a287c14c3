"""Each room's front door and its stub say the same, and every name behind it is there."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("core", "forecasting", "anomaly", "recsys")


@pytest.fixture(params=ROOMS)
def room(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def door(room: str) -> ModuleType:
    return importlib.import_module(f"likewise.{room}")


def made_things(door: ModuleType) -> dict[str, Any]:
    """The door's classes and functions, without type aliases and constants."""
    every = {name: getattr(door, name) for name in door.__all__}
    return {n: v for n, v in every.items() if inspect.isclass(v) or inspect.isfunction(v)}


def is_known(path: Path) -> bool:
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(("likewise", *(part for part in parts if part != "__init__")))
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def stub_of(room: str) -> ast.Module:
    return ast.parse((ROOT / room / "__init__.pyi").read_text("utf-8"))


def test_the_stub_imports_exactly_the_names_it_lists(room: str) -> None:
    imported: list[str] = []
    listed: list[str] = []
    for node in stub_of(room).body:
        if isinstance(node, ast.ImportFrom):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            listed += ast.literal_eval(node.value)
    assert sorted(imported) == sorted(listed)
    assert len(set(listed)) == len(listed)


def test_the_door_offers_exactly_the_names_of_the_stub(room: str, door: ModuleType) -> None:
    imports = [node for node in stub_of(room).body if isinstance(node, ast.ImportFrom)]
    names = sorted(alias.name for node in imports for alias in node.names)
    assert sorted(door.__all__) == names
    assert sorted(dir(door)) == names


def test_every_name_resolves_to_something_made_in_its_room(room: str, door: ModuleType) -> None:
    strangers = {
        name: value.__module__
        for name, value in made_things(door).items()
        if not value.__module__.startswith(f"likewise.{room}.")
    }
    assert strangers == {}


def test_every_public_class_and_function_has_a_docstring(door: ModuleType) -> None:
    assert [name for name, value in made_things(door).items() if not value.__doc__] == []


def test_an_unknown_name_is_an_attribute_error(door: ModuleType) -> None:
    with pytest.raises(AttributeError):
        _ = door.no_such_name


def test_a_door_that_exports_nothing_says_that_it_is_not_built(door: ModuleType) -> None:
    assert door.__doc__
    assert ("Not built yet" in door.__doc__) == (not door.__all__)


def test_every_module_says_what_it_is_for(room: str) -> None:
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / room).rglob("*.py"))
        if not ast.get_docstring(ast.parse(path.read_text("utf-8")))
    ]
    assert silent == []


def test_a_room_is_typed(room: str) -> None:
    assert (ROOT / room / "py.typed").is_file()


def test_the_installation_knows_every_module_of_the_room(room: str) -> None:
    # The install links files one by one: after adding one, install again.
    unknown = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / room).rglob("*.py"))
        if not is_known(path)
    ]
    assert unknown == []


def test_the_tests_run_on_the_checkout(door: ModuleType, room: str) -> None:
    assert door.__file__ is not None
    assert Path(door.__file__).resolve() == ROOT / room / "__init__.py", sys.path
