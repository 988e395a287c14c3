"""Bundles of the retrieval forecaster: the same answers to the bit, or a refusal."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from likewise.core import (
    BundleError,
    BundleFormatError,
    BundleKindError,
    ChecksumMismatch,
    ExactIndex,
    StaleIndex,
)
from likewise.forecasting import Normaliser, RetrievalForecaster
from likewise.forecasting.panel_store import pack_panel, unpack_panel

from tests.forecasting.planted import (
    HORIZON,
    LOOKBACK,
    as_pandas,
    long_frame,
    panel_of,
    two_waves,
    wave,
)


def hourly(zone: str | None) -> pl.DataFrame:
    stamps = pl.Series([datetime(2024, 3, 30) + timedelta(hours=h) for h in range(160)] * 2)
    stamps = stamps.cast(pl.Datetime("us"))
    if zone:
        stamps = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return two_waves().with_columns(ds=stamps)


KINDS: dict[str, Callable[[], Any]] = {
    "polars": two_waves,
    "pandas": lambda: as_pandas(two_waves()),
    "hours": lambda: hourly(None),
    "London": lambda: hourly("Europe/London"),
    "pandas London": lambda: as_pandas(hourly("Europe/London")),
    "whole numbers": lambda: two_waves().with_columns(
        unique_id=pl.col("unique_id").replace_strict({"a": 7, "b": 11})
    ),
    "categories": lambda: two_waves().with_columns(pl.col("unique_id").cast(pl.Categorical)),
    "float32": lambda: two_waves().with_columns(pl.col("y").cast(pl.Float32)),
}


def alike(one: Any, other: Any) -> bool:
    return bool(one.equals(other)) and list(one.columns) == list(other.columns)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_forecaster_answers_to_the_bit(kind: str, tmp_path: Path) -> None:
    frame = KINDS[kind]()
    model = RetrievalForecaster(
        HORIZON, LOOKBACK, embedding="raw", normaliser=Normaliser("z", floor=0.3), stride=2
    ).fit(frame)
    model.save(tmp_path / "m")
    loaded = RetrievalForecaster.load(tmp_path / "m")
    before, after = model.predict(level=[50, 80]), loaded.predict(level=[50, 80])
    assert type(after) is type(frame)
    assert alike(before, after)
    if isinstance(before, pl.DataFrame):
        assert before.schema == after.schema
    else:
        assert (before.dtypes == after.dtypes).all()
    assert loaded.panel_.notes == model.panel_.notes
    assert loaded.choices_.equals(model.choices_)


def test_learned_towers_come_back_to_the_bit(learned: RetrievalForecaster, tmp_path: Path) -> None:
    learned.save(tmp_path / "m")
    loaded = RetrievalForecaster.load(tmp_path / "m")
    assert loaded.embedding_.fingerprint == learned.embedding_.fingerprint
    assert learned.predict(level=[80]).equals(loaded.predict(level=[80]))
    assert learned.explain("b").to_frame().equals(loaded.explain("b").to_frame())
    for name in ("horizon", "lookback", "embedding", "pairs", "level", "normaliser", "towers"):
        assert getattr(loaded, name) == getattr(learned, name)
    assert (loaded.alias, loaded.seed, loaded.stride) == ("Learned", 0, 1)
    # and it still learns, attaches and explains
    loaded.attach(loaded.panel_)
    assert learned.predict().equals(loaded.predict())
    loaded.save(tmp_path / "again")


def test_saving_again_replaces_the_bundle(raw: RetrievalForecaster, tmp_path: Path) -> None:
    raw.save(tmp_path / "m")
    other = RetrievalForecaster(2, 8, embedding="raw").fit(two_waves(90))
    other.save(tmp_path / "m")
    assert RetrievalForecaster.load(tmp_path / "m").horizon == 2


def files_of(bundle: Path) -> list[Path]:
    return sorted(path for path in bundle.rglob("*") if path.is_file())


def test_a_truncated_file_or_a_flipped_byte_is_named(
    learned: RetrievalForecaster, tmp_path: Path
) -> None:
    learned.save(tmp_path / "m")
    for path in files_of(tmp_path / "m"):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(BundleError, match=path.name):
            RetrievalForecaster.load(tmp_path / "m")
        if path.name != "manifest.json":
            flipped = bytearray(content)
            flipped[len(content) // 2] ^= 1
            path.write_bytes(bytes(flipped))
            with pytest.raises(ChecksumMismatch, match=path.name):
                RetrievalForecaster.load(tmp_path / "m")
        path.unlink()
        with pytest.raises(BundleFormatError, match=path.name):
            RetrievalForecaster.load(tmp_path / "m")
        path.write_bytes(content)
    RetrievalForecaster.load(tmp_path / "m")


def test_a_bundle_of_another_kind_is_refused(tmp_path: Path) -> None:
    ExactIndex(np.eye(3, dtype=np.float32), fingerprint="f").save(tmp_path / "i")
    with pytest.raises(BundleKindError, match="'exact-index', not a 'retrieval-forecaster'"):
        RetrievalForecaster.load(tmp_path / "i")


def test_an_index_of_another_encoder_is_refused(
    learned: RetrievalForecaster, raw: RetrievalForecaster, tmp_path: Path
) -> None:
    mixed = copy.copy(learned)
    mixed.index_ = raw.index_
    mixed.save(tmp_path / "m")
    with pytest.raises(StaleIndex):
        RetrievalForecaster.load(tmp_path / "m")


@pytest.mark.parametrize("gaps", ["missing", "interpolate"])
def test_a_panel_comes_back_with_its_holes(gaps: str) -> None:
    values = wave(30)
    values[[4, 5, 20]] = np.nan
    panel = panel_of([(3, values.tolist()), (0, wave(9).tolist())], gaps=gaps)
    again = unpack_panel(*pack_panel(panel))
    np.testing.assert_array_equal(again.values, panel.values)
    np.testing.assert_array_equal(again.interpolated, panel.interpolated)
    assert (again.ids, again.freq, again.notes) == (panel.ids, panel.freq, panel.notes)
    assert again.to_frame().equals(panel.to_frame())


def test_a_bundle_without_a_panel_is_refused() -> None:
    with pytest.raises(BundleFormatError, match="holds no panel"):
        unpack_panel({}, {})


def test_a_series_that_began_late_keeps_its_unit(tmp_path: Path) -> None:
    frame = pl.concat([two_waves(), long_frame({"A": (130, 1e6 * wave(30, 4))})])
    model = RetrievalForecaster(HORIZON, LOOKBACK, embedding="raw").fit(frame)
    model.save(tmp_path / "m")
    loaded = RetrievalForecaster.load(tmp_path / "m")
    assert model.predict(level=[80]).equals(loaded.predict(level=[80]))
