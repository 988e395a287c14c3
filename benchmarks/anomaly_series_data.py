"""The shared series that anomaly is measured on: what is fitted, what is tested, and labels.

asd, smd and smap_msl come with a part to fit on; of ucr the file name says where it ends; of nab
the first 15 % and of skab the first 400 rows are taken as normal, as their sources do.
"""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.data import data_path

Floats = NDArray[np.float64]
FAMILIES = ("nab", "asd", "smd", "smap_msl", "ucr", "skab")

CONFIRMING = {
    "asd": ("omi-11", "omi-5", "omi-9"),
    "nab": (
        "ec2_cpu_utilization_77c1ca", "ec2_cpu_utilization_fe7f93", "ec2_network_in_257a54",
        "iio_us-east-1_i-a2eb1cd9_NetworkIn", "machine_temperature_system_failure",
        "rogue_agent_key_updown",
    ),
    "skab": ("other/14", "other/5", "valve1/0", "valve1/13", "valve1/8", "valve2/3"),
    "smap_msl": ("D-1", "D-5", "E-4", "F-8", "M-6", "P-7", "T-8"),
    "smd": (),
    "ucr": (),
}  # fmt: skip
"""Series that no rule was chosen on; all others were read while the parts were joined."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledSeries:
    """One series.

    Attributes:
        family: Its collection.
        name: Its name there.
        fitted: Normal values, [T, C].
        tested: Values to score, [S, C].
        labels: 1 for an anomalous step, [S].
    """

    family: str
    name: str
    fitted: Floats
    tested: Floats
    labels: NDArray[np.int64]

    @property
    def confirms(self) -> bool:
        """Whether nothing was chosen on it."""
        return self.name in CONFIRMING[self.family]


def series_sets(family: str) -> Iterator[LabelledSeries]:
    """Every series of a family, in order of file."""
    return _READERS[family]()


def _series(
    family: str, name: str, fitted: Floats, tested: Floats, labels: NDArray[np.int64]
) -> LabelledSeries:
    return LabelledSeries(
        family, name, fitted.astype(float), tested.astype(float), labels.astype(int)
    )


def _asd() -> Iterator[LabelledSeries]:
    return _servers("asd")


def _smd() -> Iterator[LabelledSeries]:
    return _servers("smd")


def _servers(family: str) -> Iterator[LabelledSeries]:
    for path in sorted(data_path(family).glob("*.npz")):
        held = np.load(path)
        yield _series(family, path.stem, held["train"], held["test"], held["test_label"])


def _ucr() -> Iterator[LabelledSeries]:
    for path in sorted(data_path("ucr").glob("*.txt")):
        fitted, start, stop = map(int, path.stem.split("_")[-3:])
        values = np.loadtxt(path)[:, None]
        labels = np.zeros(len(values), dtype=int)
        labels[start : stop + 1] = 1
        name = path.stem.split("_")[0]
        yield _series("ucr", name, values[:fitted], values[fitted:], labels[fitted:])


def _nab() -> Iterator[LabelledSeries]:
    windows = json.loads(data_path("nab", "labels", "combined_windows.json").read_text("utf-8"))
    for key in sorted(windows):
        frame = pl.read_csv(data_path("nab", "data", key))
        stamps = frame["timestamp"].str.to_datetime().to_numpy()
        labels = np.zeros(len(frame), dtype=int)
        for first, last in windows[key]:
            begin, end = (np.datetime64(t[:19].replace(" ", "T")) for t in (first, last))
            labels[(stamps >= begin) & (stamps <= end)] = 1
        fitted = int(0.15 * len(frame))
        values = frame["value"].to_numpy()[:, None]
        if labels[fitted:].any():
            yield _series("nab", Path(key).stem, values[:fitted], values[fitted:], labels[fitted:])


def _skab() -> Iterator[LabelledSeries]:
    for path in sorted(data_path("skab").glob("[vo]*/*.csv")):
        frame = pl.read_csv(path, separator=";")
        values = frame.drop("datetime", "anomaly", "changepoint").to_numpy()
        labels = frame["anomaly"].to_numpy()
        name = f"{path.parent.name}/{path.stem}"
        yield _series("skab", name, values[:400], values[400:], labels[400:])


def _smap() -> Iterator[LabelledSeries]:
    with data_path("smap_msl", "labeled_anomalies.csv").open(encoding="utf-8") as opened:
        marked = {row["chan_id"]: row["anomaly_sequences"] for row in csv.DictReader(opened)}
    for path in sorted(data_path("smap_msl").glob("*.npz")):
        held = np.load(path)
        labels = np.zeros(len(held["test"]), dtype=int)
        for first, last in ast.literal_eval(marked[path.stem]):
            labels[first : last + 1] = 1
        yield _series("smap_msl", path.stem, held["train"], held["test"], labels)


_READERS = {
    "nab": _nab, "asd": _asd, "smd": _smd, "smap_msl": _smap, "ucr": _ucr, "skab": _skab,
}  # fmt: skip
