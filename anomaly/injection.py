"""Faults of windows: what can go wrong in a stretch of time, one kind at a time.

In: normal windows [N, L, C] on the standard scale, a severity and a generator. Out: windows of the
same shape with one fault each. They serve as negatives when an encoder is trained and as the
injections a register measures with; the two never share a draw. A new kind is a function and a
line in ``WINDOW_FAULTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Windows = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class WindowFault:
    """One kind of fault in a window.

    Attributes:
        name: Its name in registers.
        meaning: What happened, in a sentence that says what severity counts.
        severities: Those a register measures, mild first.
        inject: (windows [N, L, C], severity, generator) -> windows [N, L, C].
    """

    name: str
    meaning: str
    severities: tuple[float, float]
    inject: Callable[[Windows, float, Generator], Windows]


def _spike(windows: Windows, severity: float, draw: Generator) -> Windows:
    spoilt, rows, channels = _copy(windows, draw)
    steps = draw.integers(windows.shape[1] // 2, windows.shape[1], size=len(windows))
    spoilt[rows, steps, channels] += severity * draw.choice([-1.0, 1.0], len(windows))
    return spoilt


def _contextual_spike(windows: Windows, severity: float, draw: Generator) -> Windows:
    """A value that occurs elsewhere in the window, at the wrong time."""
    spoilt, rows, channels = _copy(windows, draw)
    steps = draw.integers(windows.shape[1] // 2, windows.shape[1], size=len(windows))
    series = windows[rows, :, channels]
    here = series[rows, steps]
    farthest = np.abs(series - here[:, None]).argmax(axis=1)
    spoilt[rows, steps, channels] = here + severity * (series[rows, farthest] - here)
    return spoilt


def _level_shift(windows: Windows, severity: float, draw: Generator) -> Windows:
    return _add(windows, draw, lambda steps, start: np.where(steps >= start, severity, 0.0))


def _trend(windows: Windows, severity: float, draw: Generator) -> Windows:
    length = windows.shape[1]
    return _add(
        windows, draw, lambda steps, start: severity * np.maximum(0, steps - start) / (length / 2)
    )


def _variance_up(windows: Windows, severity: float, draw: Generator) -> Windows:
    noise = severity * draw.normal(size=windows.shape[:2])
    return _replace(windows, draw, lambda series, index: series + noise[index])


def _variance_down(windows: Windows, severity: float, draw: Generator) -> Windows:
    """The series drawn towards its own moving average; severity 1 leaves only that."""
    return _replace(
        windows, draw, lambda series, _: (1 - severity) * series + severity * _smooth(series)
    )


def _flatline(windows: Windows, severity: float, draw: Generator) -> Windows:
    """Stuck at one value for the last share ``severity`` of the window."""
    start = _late(windows, severity)
    return _replace(
        windows,
        draw,
        lambda series, _: np.where(np.arange(len(series)) >= start, series[start], series),
    )


def _missing_run(windows: Windows, severity: float, draw: Generator) -> Windows:
    """A run filled with the channel's mean, as a careless import would, here 0."""
    start = _late(windows, severity)
    return _replace(
        windows, draw, lambda series, _: np.where(np.arange(len(series)) >= start, 0.0, series)
    )


def _frequency(windows: Windows, severity: float, draw: Generator) -> Windows:
    """Time runs ``severity`` times as fast."""

    def faster(series: Windows, _: int) -> Windows:
        steps = np.arange(len(series))
        played: Windows = np.interp((steps * severity) % (len(series) - 1), steps, series)
        return played

    return _replace(windows, draw, faster)


def _phase(windows: Windows, severity: float, draw: Generator) -> Windows:
    """The second half delayed by ``severity`` of the window."""
    delay = max(1, round(severity * windows.shape[1]))

    def late(series: Windows, _: int) -> Windows:
        half = len(series) // 2
        return np.concatenate([series[:half], series[half - delay : len(series) - delay]])

    return _replace(windows, draw, late)


def _reversal(windows: Windows, severity: float, draw: Generator) -> Windows:
    """Time reversed, in all channels; there is only one severity."""
    del severity, draw
    return windows[:, ::-1].copy()


def _amplitude(windows: Windows, severity: float, draw: Generator) -> Windows:
    """All channels stretched around the window's own mean by ``severity``."""
    del draw
    middle = windows.mean(axis=1, keepdims=True)
    stretched: Windows = middle + severity * (windows - middle)
    return stretched


def _clipping(windows: Windows, severity: float, draw: Generator) -> Windows:
    """Cut off at the quantile 1 - severity / 2 and its mirror."""
    return _replace(
        windows,
        draw,
        lambda series, _: np.clip(series, *np.quantile(series, [severity / 2, 1 - severity / 2])),
    )


def _quantisation(windows: Windows, severity: float, draw: Generator) -> Windows:
    """Rounded to steps of ``severity``."""
    return _replace(windows, draw, lambda series, _: np.round(series / severity) * severity)


def _foreign_pattern(windows: Windows, severity: float, draw: Generator) -> Windows:
    """The second half taken over by a square wave of height ``severity``."""
    half = windows.shape[1] // 2
    period = max(2, windows.shape[1] // 8)
    wave = severity * np.sign(np.sin(2 * np.pi * (np.arange(windows.shape[1]) + 0.5) / period))
    return _replace(
        windows,
        draw,
        lambda series, _: np.where(
            np.arange(len(series)) >= half, series[half:].mean() + wave, series
        ),
    )


def _channel_decorrelation(windows: Windows, severity: float, draw: Generator) -> Windows:
    """A channel from another window: ordinary alone, wrong beside the others."""
    spoilt, rows, channels = _copy(windows, draw)
    others = draw.permutation(len(windows))
    mixed = (1 - severity) * windows[rows, :, channels] + severity * windows[others, :, channels]
    spoilt[rows, :, channels] = mixed
    return spoilt


def _swap(windows: Windows, severity: float, draw: Generator) -> Windows:
    """Two stretches of ``severity`` of the window exchanged."""
    length = max(1, round(severity * windows.shape[1]))
    spoilt = windows.copy()
    spoilt[:, :length] = windows[:, -length:]
    spoilt[:, -length:] = windows[:, :length]
    del draw
    return spoilt


def _copy(
    windows: Windows, draw: Generator
) -> tuple[Windows, NDArray[np.int64], NDArray[np.int64]]:
    channels = draw.integers(windows.shape[2], size=len(windows))
    return windows.copy(), np.arange(len(windows)), channels


def _add(
    windows: Windows,
    draw: Generator,
    curve: Callable[[NDArray[np.int64], int], NDArray[np.float64]],
) -> Windows:
    spoilt, rows, channels = _copy(windows, draw)
    steps = np.arange(windows.shape[1])
    starts = draw.integers(windows.shape[1] // 4, 3 * windows.shape[1] // 4 + 1, len(windows))
    signs = draw.choice([-1.0, 1.0], len(windows))
    for row in rows:
        spoilt[row, :, channels[row]] += signs[row] * curve(steps, int(starts[row]))
    return spoilt


def _replace(
    windows: Windows, draw: Generator, change: Callable[[NDArray[np.float64], int], Windows]
) -> Windows:
    spoilt, rows, channels = _copy(windows, draw)
    for row in rows:
        spoilt[row, :, channels[row]] = change(windows[row, :, channels[row]], int(row))
    return spoilt


def _late(windows: Windows, severity: float) -> int:
    length = int(windows.shape[1])
    return max(0, length - max(2, round(severity * length)))


def _smooth(series: NDArray[np.float64]) -> NDArray[np.float64]:
    padded = np.pad(series, 2, mode="edge")
    smooth: NDArray[np.float64] = np.convolve(padded, np.full(5, 0.2), mode="valid")
    return smooth


WINDOW_FAULTS: tuple[WindowFault, ...] = (
    WindowFault("spike", "one value off by some spreads", (3.0, 8.0), _spike),
    WindowFault("contextual spike", "a usual value at the wrong time", (0.5, 1.0),
                _contextual_spike),
    WindowFault("level shift", "a level off by some spreads", (1.0, 3.0), _level_shift),
    WindowFault("trend", "a drift of some spreads in half a window", (1.0, 3.0), _trend),
    WindowFault("variance up", "noise of some spreads", (0.5, 1.5), _variance_up),
    WindowFault("variance down", "share of the fine detail lost", (0.5, 1.0), _variance_down),
    WindowFault("flatline", "stuck for a share of the window", (0.3, 0.8), _flatline),
    WindowFault("missing run", "a share of the window filled with the mean", (0.3, 0.8),
                _missing_run),
    WindowFault("frequency", "time runs some times as fast", (1.5, 2.5), _frequency),
    WindowFault("phase", "half delayed by a share of the window", (0.1, 0.3), _phase),
    WindowFault("reversal", "time reversed", (1.0, 1.0), _reversal),
    WindowFault("amplitude", "stretched some times", (1.5, 3.0), _amplitude),
    WindowFault("clipping", "a share of the values cut off", (0.3, 0.6), _clipping),
    WindowFault("quantisation", "rounded to steps of some spreads", (0.5, 1.5), _quantisation),
    WindowFault("foreign pattern", "a square wave of some spreads", (0.5, 1.5), _foreign_pattern),
    WindowFault("channel decorrelation", "a channel from another time", (0.5, 1.0),
                _channel_decorrelation),
    WindowFault("swap", "two stretches exchanged", (0.25, 0.5), _swap),
)  # fmt: skip


def draw_faults(
    windows: Windows, count: int, draw: Generator, faults: Sequence[WindowFault] = WINDOW_FAULTS
) -> Windows:
    """Draw ``count`` windows with a fault of a random kind and severity: negatives, [count, L, C].

    Severities lie between half the mild and the full strong one of each kind.
    """
    shares = np.array_split(draw.permutation(count), len(faults))
    out = np.empty((count, *windows.shape[1:]))
    for fault, share in zip(faults, shares, strict=True):
        mild, strong = fault.severities
        severity = float(draw.uniform(min(mild, strong) * 0.75, strong))
        chosen = windows[draw.integers(len(windows), size=len(share))]
        out[share] = fault.inject(chosen, severity, draw)
    return out
