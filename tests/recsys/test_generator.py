"""Requests: who is asked for, what may be shown, and what is told when there is little to show."""

from __future__ import annotations

import polars as pl
import pytest
from likewise.core import ProcedureWarning, SettingError, UnknownId
from likewise.recsys import CandidateGenerator

from tests.recsys.planted import ITEMS, checkerboard, random_events


@pytest.fixture(scope="module")
def generator() -> CandidateGenerator:
    return CandidateGenerator(tower=None).fit(checkerboard())


def test_one_list_a_user_in_the_order_asked(generator: CandidateGenerator) -> None:
    # case RecBole #1908, Spark 18748
    answer = generator.answer(["u05", "u01", "u05"], k=2)
    assert answer.frame["user_id"].to_list() == ["u05", "u05", "u01", "u01"]
    assert answer.statuses["user_id"].to_list() == ["u05", "u01"]


def test_the_ids_and_their_types_come_back(generator: CandidateGenerator) -> None:
    frame = CandidateGenerator(tower=None).fit(random_events(0)).recommend(k=3)
    assert frame.schema["user_id"] == pl.Int64
    assert frame["user_id"].min() >= 2**40  # type: ignore[operator]
    assert frame.schema["item_id"] == pl.String


def test_an_unknown_user_follows_the_policy(generator: CandidateGenerator) -> None:
    # case recsys#7, recommenders #649
    with pytest.raises(UnknownId, match="'nobody'"):
        generator.recommend(["u01", "nobody"])
    assert generator.recommend(["nobody"], on_unknown="skip").height == 0
    with pytest.warns(ProcedureWarning, match="1 of 2"):
        generator.recommend(["nobody", "u01"], on_unknown="warn")
    answer = generator.answer(["nobody", "u01"], k=4, on_unknown="fallback")
    assert answer.statuses["status"].to_list() == ["cold", "ok"]
    assert answer.frame.filter(pl.col("user_id") == "nobody")["source"].unique().to_list() == [
        "popularity"
    ]
    with pytest.raises(SettingError, match="policies"):
        generator.recommend(["u01"], on_unknown="guess")  # type: ignore[arg-type]


def test_a_user_who_took_everything_is_exhausted_not_padded() -> None:
    # case recsys#3
    events = pl.DataFrame({"user_id": [1, 1, 1, 2], "item_id": ["a", "b", "c", "a"]})
    answer = CandidateGenerator(tower=None).fit(events).answer(k=2)
    assert answer.statuses.rows() == [(1, "exhausted", 0), (2, "ok", 2)]
    assert answer.fill_rate == 0.5


def test_fewer_than_k_is_called_short(generator: CandidateGenerator) -> None:
    answer = generator.answer(["u00"], k=10, include=["i00", "i02"])
    assert answer.statuses.rows() == [("u00", "short", 1)]
    assert answer.frame["item_id"].to_list() == ["i00"]


def test_exclusions_hold_for_everybody_or_by_user(generator: CandidateGenerator) -> None:
    # case TFRS #523, #113
    everywhere = generator.recommend(["u00", "u02"], k=ITEMS, exclude=["i00", "not there"])
    assert "i00" not in everywhere["item_id"].to_list()
    by_user = generator.recommend(
        ["u00", "u02"], k=1, exclude=pl.DataFrame({"user_id": ["u00"], "item_id": ["i00"]})
    )
    assert by_user["item_id"].to_list()[0] != "i00"
    assert by_user["item_id"].to_list()[1] == "i02"


def test_an_include_list_by_user_rules_out_all_else(generator: CandidateGenerator) -> None:
    rule = pl.DataFrame({"user_id": ["u00", "u02"], "item_id": ["i00", "i01"]})
    frame = generator.recommend(["u00", "u02"], k=9, include=rule)
    assert frame.select("user_id", "item_id").rows() == rule.rows()


def test_what_was_taken_comes_back_when_it_is_asked_for(generator: CandidateGenerator) -> None:
    assert generator.recommend(["u00"], k=ITEMS, hide_seen=False).height == ITEMS


@pytest.mark.parametrize("k", [0, -3])
def test_k_is_at_least_one(generator: CandidateGenerator, k: int) -> None:
    with pytest.raises(SettingError, match="at least 1"):
        generator.recommend(k=k)


def test_nobody_asked_is_answered_with_an_empty_table(generator: CandidateGenerator) -> None:
    # case RecBole #848
    answer = generator.answer([], k=3)
    assert answer.frame.height == 0
    assert answer.frame.columns == ["user_id", "item_id", "score", "rank", "source"]
    assert answer.fill_rate == 1.0


def test_an_empty_session_and_one_of_unknown_items_get_an_empty_list(
    generator: CandidateGenerator,
) -> None:
    frame = generator.recommend_sessions([[], ["i00", "i02"], ["what"]], k=2)
    assert frame["session_id"].unique().to_list() == [1]
    table = pl.DataFrame({"session_id": ["s", "s"], "item_id": ["i00", "i02"]})
    again = generator.recommend_sessions(table, k=2)
    assert again["item_id"].to_list() == frame["item_id"].to_list()


def test_sessions_with_filters_are_answered_in_one_batch_as_one_by_one(
    generator: CandidateGenerator,
) -> None:
    # case recsys#13
    sessions = [["i00", "i02"], ["i01"], ["i04", "i06", "i08"]]
    together = generator.recommend_sessions(sessions, k=4, exclude=["i10", "i03"])
    for number, session in enumerate(sessions):
        alone = generator.recommend_sessions([session], k=4, exclude=["i10", "i03"])
        part = together.filter(pl.col("session_id") == number)
        assert part["item_id"].to_list() == alone["item_id"].to_list()
    assert not set(together["item_id"]) & {"i10", "i03"}


def test_users_can_be_answered_by_events_given_with_the_request(
    generator: CandidateGenerator,
) -> None:
    events = checkerboard().filter(pl.col("user_id") == "u03").with_columns(user_id=pl.lit("new"))
    given = generator.answer_events(events, k=4)
    stored = generator.recommend(["u03"], k=4)
    assert given.frame["item_id"].to_list() == stored["item_id"].to_list()
    assert given.statuses["user_id"].to_list() == ["new"]


def test_a_generator_without_any_source_is_refused() -> None:
    with pytest.raises(SettingError, match="or both"):
        CandidateGenerator(tower=None, cooccurrence=None)
    only = CandidateGenerator(cooccurrence=None)
    with pytest.raises(SettingError, match="co-occurrence"):
        only.fit(checkerboard().head(60)).complementary(["i00"])


def test_related_to_an_unknown_item_is_told(generator: CandidateGenerator) -> None:
    with pytest.raises(UnknownId, match="never seen"):
        generator.related(["what"])
