"""The evaluator: golden values, every number in [0, 1], nothing hidden by an average."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import ColumnError, InputError, SettingError, ShapeError, TooFewRows
from likewise.recsys import (
    agreement,
    bootstrap_difference,
    bootstrap_mean,
    compare,
    evaluate,
    gini,
    item_strata,
    read_candidates,
    recall_by_source,
    sensitivity_curve,
    snips_recall,
)

from tests.naive_recsys import (
    naive_capped_recall,
    naive_gini,
    naive_ndcg,
    naive_recall,
    naive_strata,
)
from tests.recsys.planted import random_events

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), min_size=1, max_size=25)


def table(pairs: list[tuple[int, int]]) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema={"user_id": pl.Int64, "item_id": pl.Int64}, orient="row")


def listed(pairs: list[tuple[int, int]]) -> pl.DataFrame:
    frame = table(pairs)
    return frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user_id"))


@settings(max_examples=60, deadline=None)
@given(PAIRS, PAIRS, PAIRS, st.integers(1, 6))
def test_every_measure_is_the_one_of_the_definition(
    train: list[tuple[int, int]],
    test: list[tuple[int, int]],
    candidates: list[tuple[int, int]],
    k: int,
) -> None:
    # case garrytan/gbrain #4607: pairs that stand twice push nothing above 1
    judged = evaluate(listed(candidates), table(test), train=table(train), k=k)
    strata = naive_strata(train)
    lists = {
        user: list(dict.fromkeys(item for who, item in candidates if who == user))
        for user in range(4)
    }
    for row in judged.users.iter_rows(named=True):
        mine = lists[row["user_id"]]
        relevant: set[object] = {item for user, item in test if user == row["user_id"]}
        assert row["recall"] == pytest.approx(naive_recall(mine, relevant, k))
        assert row["capped_recall"] == pytest.approx(naive_capped_recall(mine, relevant, k))
        assert row["ndcg"] == pytest.approx(naive_ndcg(mine, relevant, k))
        for name in ("head", "torso", "tail", "cold"):
            part = {item for item in relevant if strata.get(item, "cold") == name}
            wanted = naive_recall(mine, part, k) if part else None
            assert row[f"recall_{name}"] == (pytest.approx(wanted) if part else None)
    for name, value in judged.summary.items():
        assert np.isnan(value) or 0 <= value <= 1, name


@given(st.lists(st.integers(0, 9), max_size=12))
def test_gini_is_half_the_relative_mean_difference(amounts: list[int]) -> None:
    exposure = np.array(amounts, dtype=float)
    assert gini(exposure) == pytest.approx(naive_gini(amounts), abs=1e-9)


def test_padding_cannot_lift_a_measure_above_one() -> None:
    # case recsys#2: item 0 as filler was counted as a hit each time
    padded = listed([(1, 0), (1, 0), (1, 0), (1, 2)])
    judged = evaluate(padded, table([(1, 0)]), train=table([(1, 1)]), k=10)
    assert judged.users.row(0, named=True)["hits"] == 1
    assert judged.mean("capped_recall") == judged.mean("ndcg") == 1.0
    assert judged.mean("filled") == pytest.approx(0.2)


def test_items_nobody_knew_are_misses_and_their_share_is_told() -> None:
    # case Cornac #444, Spark SPARK-14489
    judged = evaluate(listed([(1, 1)]), table([(1, 1), (1, 99)]), train=table([(2, 1)]), k=5)
    assert judged.mean("recall") == 0.5
    assert judged.unknown_share == 0.5
    assert judged.mean("recall_cold") == 0.0


def test_a_list_of_items_nobody_knows_is_judged_like_any_other() -> None:
    # case RecBole #2194
    judged = evaluate(listed([(1, 77), (1, 1)]), table([(1, 1)]), train=table([(2, 1)]), k=2)
    assert judged.mean("recall") == 1.0
    assert all(np.isnan(value) or 0 <= value <= 1 for value in judged.summary.values())


def test_a_user_without_candidates_counts_as_zero() -> None:
    # case recommenders #768: whoever is judged, all test users count
    judged = evaluate(listed([(1, 1)]), table([(1, 1), (2, 1)]), train=table([(3, 1)]), k=5)
    assert judged.mean("recall") == 0.5


def test_candidates_that_were_known_are_told() -> None:
    judged = evaluate(listed([(1, 1), (1, 2)]), table([(1, 2)]), train=table([(1, 1)]), k=5)
    assert judged.repeated_share == 0.5


def test_shards_are_read_as_one_file(tmp_path: Path) -> None:
    frame = listed([(1, 1), (1, 2), (2, 1)])
    for number in range(2):
        part = frame.filter(pl.col("user_id") == number + 1)
        part.write_parquet(tmp_path / f"shard-{number}.parquet")
    assert read_candidates(tmp_path).equals(read_candidates(frame))
    with pytest.raises(InputError, match="no Parquet"):
        read_candidates(tmp_path / "..")
    with pytest.raises(ColumnError, match="rank"):
        read_candidates(table([(1, 1)]))


def test_ranks_are_counted_anew() -> None:
    frame = table([(1, 5), (1, 6), (1, 5)]).with_columns(rank=pl.Series([7, 3, 9]))
    assert read_candidates(frame).select("item_id", "rank").rows() == [(6, 1), (5, 2)]


def test_the_bestseller_list_overlaps_with_itself_and_a_bound_fails_the_build() -> None:
    # case LightFM #395, #589
    train = random_events(5)
    best = item_strata(train).head(5)["item_id"]
    users = train["user_id"].unique()
    frame = (
        users.to_frame()
        .join(best.to_frame(), how="cross")
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("user_id"))
    )
    judged = evaluate(frame, train, train=train, k=5)
    assert judged.spread.bestseller_overlap == 1.0
    with pytest.raises(InputError, match="best sellers"):
        judged.spread.require_own_taste(0.9)
    judged.spread.require_own_taste(1.0)


def test_the_recall_of_the_sources_adds_up_to_that_of_the_union() -> None:
    frame = listed([(1, 1), (1, 2), (2, 3)]).with_columns(source=pl.Series(["a", "b", "a"]))
    shares = recall_by_source(frame, table([(1, 1), (1, 2), (2, 9)]), k=5)
    assert shares["recall_share"].sum() == pytest.approx(2 / 3)


def test_agreement_is_the_share_of_the_exact_list_that_is_kept() -> None:
    exact, rough = listed([(1, 1), (1, 2), (1, 3)]), listed([(1, 1), (1, 3), (1, 9)])
    assert agreement(rough, exact, k=3) == pytest.approx(2 / 3)
    assert agreement(exact, exact, k=3) == 1.0
    with pytest.raises(TooFewRows):
        agreement(rough, exact.head(0), k=3)


def test_an_interval_holds_the_mean_and_a_difference_is_paired() -> None:
    generator = np.random.default_rng(0)
    base = generator.random(400)
    interval = bootstrap_mean(base)
    assert interval.low < interval.mean < interval.high
    difference = bootstrap_difference(base + 0.01, base)
    assert difference.decided
    assert difference.high - difference.low < 1e-9
    with pytest.raises(ShapeError, match="same users"):
        bootstrap_difference(base, base[1:])


def test_evaluations_are_compared_on_the_users_they_share() -> None:
    train, test = table([(9, 1)]), table([(1, 1), (2, 1)])
    good = evaluate(listed([(1, 1), (2, 1)]), test, train=train, k=3)
    bad = evaluate(listed([(1, 2), (2, 2)]), test, train=train, k=3)
    assert compare(good, bad).mean == 1.0
    with pytest.raises(SettingError, match="counts 3"):
        compare(good, evaluate(listed([(1, 1)]), test, train=train, k=2))
    with pytest.raises(SettingError, match="no measure"):
        good.mean("precision")


def test_what_cannot_be_judged_is_told() -> None:
    with pytest.raises(TooFewRows, match="nothing can be found"):
        evaluate(listed([(1, 1)]), table([(1, 1)]).head(0), train=table([(1, 1)]))
    with pytest.raises(SettingError, match="at least one"):
        evaluate(listed([(1, 1)]), table([(1, 1)]), train=table([(1, 1)]), k=0)


def exposed() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """A popular item everybody is shown, and nine rare ones that nobody is."""
    train = table([(user, 0) for user in range(50)] + [(user, 1 + user % 9) for user in range(9)])
    test = table([(user, 0) for user in range(60)] + [(user, 1 + user % 9) for user in range(60)])
    return listed([(user, 0) for user in range(60)]), train, test


def test_believing_in_exposure_takes_the_bestseller_down() -> None:
    frame, train, test = exposed()
    curve = sensitivity_curve(frame, test, train=train, k=1)
    recalls = [point.recall for point in curve]
    assert recalls[0] == pytest.approx(0.5)
    assert recalls == sorted(recalls, reverse=True)
    assert curve[0].effective == pytest.approx(120)


def test_logged_propensities_replace_the_belief() -> None:
    frame, train, test = exposed()
    logged = pl.DataFrame({"item_id": list(range(10)), "propensity": [1.0] + [0.1] * 9})
    result = snips_recall(frame, test, train=train, k=1, propensities=logged, least_effective=1.0)
    assert result.recall == pytest.approx(60 / (60 + 600))
    assert result.exponent is None
    with pytest.raises(InputError, match="have no propensity"):
        snips_recall(frame, test, train=train, k=1, propensities=logged.head(3))


def test_too_small_an_effective_sample_gives_no_number() -> None:
    frame, train, test = exposed()
    with pytest.raises(TooFewRows, match="effective sample"):
        snips_recall(frame, test, train=train, k=1, exponent=1.0, least_effective=110.0)


def test_candidates_are_judged_against_all_items_and_not_a_sample_of_them() -> None:
    # case RecBole #1256: beside a hundred sampled items a drawn list would find one in ten
    draw = np.random.default_rng(0)
    items, users, k = 2_000, 400, 10
    drawn = [(user, int(item)) for user in range(users) for item in draw.choice(items, k, False)]
    wanted = [(user, int(draw.integers(items))) for user in range(users)]
    everything = [(item % users, item) for item in range(items)]
    judged = evaluate(listed(drawn), table(wanted), train=table(everything), k=k)
    assert judged.mean("recall") < 4 * k / items
