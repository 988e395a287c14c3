"""Events in: any kind of table, any kind of id, every fault by row."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from likewise.core import (
    ColumnError,
    DuplicateRows,
    InputError,
    NonFiniteError,
    SettingError,
    ShapeError,
    TooFewRows,
    UnknownId,
)
from likewise.recsys import (
    CandidateGenerator,
    Histories,
    Interactions,
    Vocabulary,
    read_events,
    read_matrix,
)
from likewise.recsys.ranking import Ranked
from likewise.recsys.trial import measure_lists
from scipy import sparse

from tests.recsys.planted import random_events


@given(st.lists(st.text(min_size=1, max_size=4), min_size=1, unique=True))
def test_text_ids_go_to_rows_and_back(ids: list[str]) -> None:
    known = Vocabulary(ids, "item_id")
    assert known.ids_of(known.rows_of(ids)).to_list() == ids


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True))
def test_sparse_64_bit_ids_go_to_rows_and_back(ids: list[int]) -> None:
    # case TFRS #190, Spark 9361
    known = Vocabulary(ids, "user_id")
    assert known.ids_of(known.rows_of(ids)).to_list() == ids


def test_an_id_that_is_not_known_has_no_row_and_no_wrap_around() -> None:
    # case recsys#6, #7
    known = Vocabulary([0, 1, 2], "user_id")
    assert known.rows_of([-1, 1, 7]).tolist() == [-1, 1, -1]
    with pytest.raises(UnknownId, match="-1"):
        known.known_rows([-1])


def test_ids_of_another_type_are_refused() -> None:
    with pytest.raises(ColumnError, match="type that was fitted"):
        Vocabulary(["1"], "user_id").rows_of([1])


def test_an_id_too_wide_for_the_stored_type_is_unknown() -> None:
    known = Vocabulary(pl.Series([1, 2], dtype=pl.Int32), "user_id")
    assert known.rows_of([2**40]).tolist() == [-1]


def test_an_id_twice_is_refused() -> None:
    # case TFRS #500
    with pytest.raises(DuplicateRows, match="'a'"):
        Vocabulary(["a", "b", "a"], "item_id")


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow", "parquet", "lazy"])
def test_every_kind_of_table_gives_the_same_events(kind: str, tmp_path: Path) -> None:
    plain = random_events(0)
    plain.write_parquet(tmp_path / "events.parquet")
    native = {
        "polars": plain,
        "pandas": pd.DataFrame({name: plain[name].to_list() for name in plain.columns}),
        "arrow": pa.table({name: plain[name].to_list() for name in plain.columns}),
        "parquet": tmp_path / "events.parquet",
        "lazy": plain.lazy(),
    }[kind]
    assert read_events(native).equals(read_events(plain))


def test_pandas_in_pandas_out() -> None:
    # case recommenders #606, T4Rec #607
    plain = random_events(0)
    events = pd.DataFrame({name: plain[name].to_list() for name in plain.columns})
    answer = CandidateGenerator(tower=None).fit(events).recommend(k=3)
    assert isinstance(answer, pd.DataFrame)
    assert list(answer.columns) == ["user_id", "item_id", "score", "rank", "source"]
    assert set(answer["user_id"]) <= set(events["user_id"])


def test_a_stored_zero_is_no_event() -> None:
    # case recsys#9
    matrix = sparse.csr_matrix(([0.0, 1.0], ([0, 0], [1, 2])), shape=(2, 3))
    known = Interactions.read(matrix)
    assert known.matrix.nnz == 1
    assert (len(known.users), len(known.items)) == (2, 3)
    assert (
        1
        in CandidateGenerator(tower=None)
        .fit(sparse.csr_matrix(([0.0, 1.0, 1.0, 1.0], ([0, 0, 1, 1], [1, 2, 1, 2])), shape=(2, 3)))
        .recommend([0], k=3)["item_id"]
        .to_list()
    )


def test_a_matrix_may_bring_its_ids() -> None:
    table = read_matrix(sparse.csr_matrix(np.eye(2)), users=["ann", "bo"], items=[10, 20])
    assert table.rows() == [("ann", 10, 1.0), ("bo", 20, 1.0)]
    with pytest.raises(ShapeError, match="2 users by 2 items"):
        # case implicit #535, #742: both shapes are named
        read_matrix(sparse.csr_matrix(np.eye(2)), users=["ann"])


def test_every_broken_weight_is_named_by_its_row() -> None:
    # case recsys#15
    table = pl.DataFrame(
        {"user_id": [1, 1, 2], "item_id": [1, 2, 3], "weight": [1.0, float("nan"), float("inf")]}
    )
    with pytest.raises(NonFiniteError, match=r"(?s)2 faults.*row 1.*row 2"):
        read_events(table)
    with pytest.raises(InputError, match="row 0"):
        read_events(pl.DataFrame({"user_id": [1], "item_id": [1], "weight": [-1.0]}))


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"user": [1], "item_id": [1]}, "user_id"),
        ({"user_id": [1.5], "item_id": [1]}, "text or whole numbers"),
        ({"user_id": [None, 1], "item_id": [1, 2]}, "row 0"),
        ({"user_id": [1], "item_id": [1], "weight": ["x"]}, "weight"),
        ({"user_id": [1], "item_id": [1], "datetime": ["today"]}, "datetime"),
    ],
)
def test_a_column_of_the_wrong_kind_is_told(table: dict[str, list[object]], told: str) -> None:
    with pytest.raises(ColumnError, match=told):
        read_events(pl.DataFrame(table))


def test_no_event_at_all_is_told() -> None:
    with pytest.raises(TooFewRows, match="no event"):
        Interactions.read(pl.DataFrame({"user_id": [1], "item_id": [1], "weight": [0.0]}))


@pytest.mark.parametrize(
    ("merge", "weight"), [("once", 1.0), ("sum", 6.0), ("max", 4.0), ("last", 2.0)]
)
def test_duplicates_are_merged_by_the_declared_rule(merge: str, weight: float) -> None:
    table = pl.DataFrame(
        {
            "user_id": [1, 1],
            "item_id": ["a", "a"],
            "weight": [4.0, 2.0],
            "datetime": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)],
        }
    )
    known = Interactions.read(table, merge=merge)  # type: ignore[arg-type]
    assert known.matrix.toarray().tolist() == [[weight]]
    with pytest.raises(SettingError, match="rules"):
        Interactions.read(table, merge="mean")  # type: ignore[arg-type]


def test_histories_run_from_the_oldest_event_to_the_latest() -> None:
    table = pl.DataFrame(
        {"user_id": [1, 1, 1], "item_id": ["c", "a", "b"], "datetime": [30, 10, 20]}
    )
    known = Interactions.read(table)
    (history,) = known.histories
    assert known.items.ids_of(history).to_list() == ["a", "b", "c"]


def test_a_catalogue_wider_than_32_bits_does_not_wrap_around() -> None:
    # case implicit #360, #86, #380, PR 599; lkpy #714
    wide = 2**33
    histories = Histories.of([[wide - 1, 7], [2**31 + 5]], width=wide)
    assert histories.matrix.indices.dtype == np.int64
    assert histories.matrix.indices.tolist() == [7, wide - 1, 2**31 + 5]
    assert [one.tolist() for one in histories.take(np.array([1, 0]))] == [
        [2**31 + 5],
        [wide - 1, 7],
    ]
    ranked = Ranked(np.array([0, 2, 3]), np.array([7, 8, 2**31 + 5]), np.ones(3, dtype=np.float32))
    assert measure_lists(ranked, histories, k=2)[0].tolist() == [0.5, 1.0]


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=5), st.integers(1, 4))
def test_histories_are_cut_like_lists(lists: list[list[int]], length: int) -> None:
    packed = Histories.of(lists, width=6)
    assert [one.tolist() for one in packed] == lists
    assert [one.tolist() for one in packed.recent(length)] == [one[-length:] for one in lists]
    back = np.arange(len(lists))[::-1]
    assert [one.tolist() for one in packed.take(back)] == lists[::-1]
    assert packed.matrix.sum() == len(packed.items)
