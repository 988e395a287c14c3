"""The environment is the tested set: what is installed is what constraints.txt pins."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PER_PLATFORM = re.compile(r"nvidia-|cuda-|triton|colorama|pywin")
"""What only some platforms install, in versions that torch or the platform decides."""


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    return {name: version for name, _, version in (line.partition("==") for line in named)}


def installed(name: str) -> str | None:
    try:
        return Version(distribution(name).version).public
    except PackageNotFoundError:
        return None


def needed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> set[str]:
    """Every package an installation of ``name`` pulls in, on this platform."""
    if (canonicalize_name(name), extras) in seen or installed(name) is None:
        return set()
    seen.add((canonicalize_name(name), extras))
    found: set[str] = {canonicalize_name(name)}
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": e}) for e in extras or {""}):
            found |= needed(requirement.name, frozenset(requirement.extras), seen)
    return found


def test_installed_versions_are_the_pinned_ones() -> None:
    found = {name: version for name in pins() if (version := installed(name)) is not None}
    assert found == {name: version for name, version in pins().items() if name in found}


def test_everything_an_installation_pulls_in_is_pinned() -> None:
    pulled = needed("likewise", frozenset({"demo", "dev"}), set()) - {"likewise"}
    assert {name for name in pulled if not PER_PLATFORM.match(name)} - set(pins()) == set()


def test_the_pins_are_plain_versions_in_order() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    assert list(pins()) == sorted(pins())
    assert all(re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line) for line in named)
    assert "likewise" not in pins()


@pytest.mark.parametrize("name", ["pm-implicit", "rectools", "lightly", "TSB-AD", "pate", "vus"])
def test_a_package_that_breaks_the_environment_is_absent(name: str) -> None:
    assert installed(name) is None
