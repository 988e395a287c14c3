"""A loop shows that it is alive on a terminal and nowhere else."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest
from likewise.core import Progress, silent, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("progress", [track, silent])
def test_items_pass_through_unchanged_and_a_pipe_stays_silent(
    progress: Progress, capfd: pytest.CaptureFixture[str]
) -> None:
    assert list(progress(iter("abc"), "reading", total=3)) == ["a", "b", "c"]
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_a_terminal_is_shown_the_label(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(track([1, 2, 3], "training")) == [1, 2, 3]
    assert "training" in terminal.getvalue()


def test_a_loop_left_early_takes_no_further_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    for number in track(numbers(), "searching", total=10):
        if number == 2:
            break
    assert taken == [0, 1, 2]


def test_a_loop_within_a_loop_shows_both(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert [list(track("ab", "inner")) for _ in track([1, 2], "outer")] == [["a", "b"]] * 2
    assert "outer" in terminal.getvalue()
    assert "inner" in terminal.getvalue()
