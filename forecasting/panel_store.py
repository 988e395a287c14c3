"""A panel as plain tables, and back to the bit.

In: a panel. Out: settings and polars tables for a bundle; :func:`unpack_panel` makes the same
panel again, with the caller's library, column names and kinds, so that a loaded forecaster
answers as the fitted one did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from ..core import BundleFormatError
from .columns import Schema
from .covariates import Covariates
from .frequency import Frequency
from .panel import Panel

SERIES, ROWS, CLOCK = "panel.series", "panel.rows", "panel.clock"
KNOWN, KNOWN_ROWS = "panel.covariates", "panel.covariate_rows"


def pack_panel(panel: Panel) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """Settings and tables that hold a panel."""
    schema = panel.schema
    drawn = np.zeros(len(panel.values), dtype=bool)
    drawn[panel.interpolated] = True
    settings = {
        "freq": asdict(panel.freq),
        "native": schema.native,
        "columns": [schema.id_col, schema.time_col, schema.target_col],
        "id_dtype": _describe(schema.id_dtype),
        "time_dtype": None if schema.time_dtype is None else _describe(schema.time_dtype),
        "notes": list(panel.notes),
    }
    tables = {
        SERIES: pl.DataFrame(
            {
                "id": panel.labels(np.arange(len(panel))),
                "start": panel.starts,
                "length": panel.lengths,
            }
        ),
        ROWS: pl.DataFrame({"y": panel.values, "interpolated": drawn}),
        CLOCK: pl.DataFrame({"first": panel.stamps(panel.starts[:1])}),
    }
    return {"panel": settings}, tables | _pack_covariates(panel)


def unpack_panel(config: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Panel:
    """The panel that :func:`pack_panel` took apart.

    Raises:
        BundleFormatError: A part is missing.
    """
    try:
        settings = config["panel"]
        series, rows, clock = tables[SERIES], tables[ROWS], tables[CLOCK]
        id_col, time_col, target_col = settings["columns"]
        time_dtype = settings["time_dtype"]
    except KeyError as missing:
        raise BundleFormatError(f"the bundle holds no panel: {missing} is missing") from missing
    schema = Schema(
        native=settings["native"],
        id_col=id_col,
        time_col=time_col,
        target_col=target_col,
        id_dtype=_restore(settings["id_dtype"]),
        time_dtype=None if time_dtype is None else _restore(time_dtype),
    )
    return Panel(
        ids=tuple(series["id"].to_list()),
        starts=series["start"].to_numpy().copy(),
        offsets=np.concatenate([[0], np.cumsum(series["length"].to_numpy())]),
        values=rows["y"].to_numpy().copy(),
        freq=Frequency(**settings["freq"]),
        time_dtype=clock["first"].dtype,
        id_dtype=series["id"].dtype,
        schema=schema,
        notes=tuple(settings["notes"]),
        interpolated=np.flatnonzero(rows["interpolated"].to_numpy()),
        covariates=_unpack_covariates(tables),
    )


def _pack_covariates(panel: Panel) -> dict[str, pl.DataFrame]:
    known = panel.covariates
    if not known.names:
        return {}
    ids = list(known.tables)
    heads = {
        "id": pl.Series(ids, dtype=panel.labels(np.arange(1)).dtype),
        "start": [known.starts[series_id] for series_id in ids],
        "length": [len(known.tables[series_id]) for series_id in ids],
    }
    rows = np.concatenate([known.tables[series_id] for series_id in ids])
    return {KNOWN: pl.DataFrame(heads), KNOWN_ROWS: pl.DataFrame(rows, schema=list(known.names))}


def _unpack_covariates(tables: Mapping[str, pl.DataFrame]) -> Covariates:
    if KNOWN not in tables:
        return Covariates()
    heads, rows = tables[KNOWN], tables[KNOWN_ROWS]
    ids, ends = heads["id"].to_list(), np.cumsum(heads["length"].to_numpy())
    parts = np.split(rows.to_numpy().copy(), ends[:-1])
    return Covariates(
        tuple(rows.columns),
        dict(zip(ids, heads["start"].to_list(), strict=True)),
        dict(zip(ids, parts, strict=True)),
    )


def _describe(dtype: nw.dtypes.DType) -> dict[str, Any]:
    described: dict[str, Any] = {"name": type(dtype).__name__}
    for part in ("time_unit", "time_zone"):
        if hasattr(dtype, part):
            described[part] = getattr(dtype, part)
    return described


def _restore(described: Mapping[str, Any]) -> nw.dtypes.DType:
    parts = {part: value for part, value in described.items() if part != "name"}
    kind: type[nw.dtypes.DType] = getattr(nw, described["name"])
    return kind(**parts)
