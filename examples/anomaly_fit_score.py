"""Fit on normal rows, score new ones, and write a page about the alerts.

Run it with ``python examples/anomaly_fit_score.py``; it needs the demo extra for its data. The
page says what alerted, which normal rows it was compared with, and what the detector cannot see.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
from likewise.anomaly import NeighbourDetector, measure_row_register
from likewise.anomaly.report import row_report
from likewise.core import Page
from sklearn.datasets import load_breast_cancer


def main(out: Path) -> None:
    """Fit, score, register, report."""
    data = load_breast_cancer(as_frame=False)
    columns = [str(name) for name in data.feature_names]
    benign = np.random.default_rng(0).permutation(np.flatnonzero(data.target == 1))
    normal, fresh = benign[:250], benign[250:]
    judged = np.concatenate([fresh, np.flatnonzero(data.target == 0)])

    detector = NeighbourDetector(false_alarm_rate=0.02).fit(
        pl.DataFrame(data.data[normal], schema=columns)
    )
    rows = pl.DataFrame(data.data[judged], schema=columns)
    alerts = detector.explain(rows)
    false_alarms = int(detector.predict(rows)[: len(fresh)].sum())
    print(f"{len(alerts)} of {len(judged)} rows alert; {false_alarms} of {len(fresh)} benign ones")
    print(measure_row_register(detector).sentence())

    page = Page("Alerts", "Cell nuclei that are far from every benign one")
    print(page.add(*row_report(detector, alerts, len(judged))).write(out), "written")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "alerts.html"))
