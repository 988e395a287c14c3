"""Watch a pump: fit on days taken as normal, judge later ones, and say what would be missed.

Run it with ``python examples/anomaly_series.py``. Pressure and current of a pump that runs every
two hours are made from a seed, one value every five minutes, and two faults are planted in the
days to judge: the pressure sensor sticks for an hour, and later pressure and current no longer go
together. A stream that sees one step at a time gives the same scores, and a page shows each alert
over its nearest normal windows. A few seconds on one core.
"""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import numpy as np
import polars as pl
from likewise.anomaly import SeriesDetector, Stream, measure_window_register
from likewise.anomaly.series_alerts import judge_frame
from likewise.anomaly.series_report import series_alert_table, series_report
from likewise.core import Page

DAY = 288
CYCLE = 24
STUCK = slice(400, 412)
APART = slice(900, 924)


def run_pump(days: int, seed: int) -> pl.DataFrame:
    """Pressure and current of some days."""
    draw = np.random.default_rng(seed)
    steps = np.arange(days * DAY)
    phase = (steps % CYCLE) / CYCLE
    load = np.minimum(1, 3 * phase) * (phase < 0.8)
    return pl.DataFrame(
        {
            "ds": [dt.datetime(2026, 1, 1) + dt.timedelta(minutes=5 * int(s)) for s in steps],
            "pressure": 2 + load + 0.05 * draw.normal(size=len(steps)),
            "current": 5 + 4 * load**2 + 0.1 * draw.normal(size=len(steps)),
        }
    )


def main(out: Path) -> None:
    """Fit, judge, stream, measure, report."""
    normal, later = run_pump(14, seed=0), run_pump(5, seed=1)
    pressure, current = (later[name].to_numpy().copy() for name in ("pressure", "current"))
    pressure[STUCK] = pressure[STUCK.start]
    current[APART] = np.roll(current[APART], CYCLE // 4)
    later = later.with_columns(pressure=pl.Series(pressure), current=pl.Series(current))

    detector = SeriesDetector(0.002, lookback=CYCLE).fit(normal)
    judged = judge_frame(detector, later)
    print(series_alert_table(judged.alerts, shown=5).as_text())
    for name, fault in (("stuck", STUCK), ("apart", APART)):
        alerts = judged.answer["alert"][fault.start : fault.stop]
        after = f"found after {alerts.arg_max()} steps" if alerts.any() else "missed"
        print(f"{name} from {later['ds'][fault.start]}: {after}")

    stream = Stream(detector)
    streamed = [stream.push(step).score for step in later.drop("ds").rows()[:DAY]]
    whole = judged.answer["score"][:DAY].to_numpy()
    print("a stream agrees:", np.array_equal(streamed, whole, equal_nan=True))

    print(measure_window_register(detector).sentence())
    page = Page("A pump", "Hours that are not like any before")
    print(page.add(*series_report(detector, judged)).write(out), "written")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "pump.html"))
