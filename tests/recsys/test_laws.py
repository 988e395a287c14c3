"""What every maker of candidates must keep, generator and baseline alike, on a checkerboard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from likewise.recsys import (
    CandidateGenerator,
    CooccurrenceSettings,
    Ease,
    ImplicitModel,
    Interactions,
    TowerSettings,
)
from likewise.recsys.baselines import Baseline, Bestsellers

from tests.recsys.planted import ITEMS, QUICK, USERS, checkerboard, left_out


class Laws:
    """Laws of a fitted generator; a subclass names its settings."""

    tower: TowerSettings | None = None
    cooccurrence: CooccurrenceSettings | None = None

    @classmethod
    def build(cls) -> CandidateGenerator:
        return CandidateGenerator(
            tower=cls.tower,
            cooccurrence=cls.cooccurrence,
            weights={"tower": 1.0, "cooccurrence": 1.0},
        ).fit(checkerboard())

    @pytest.fixture(scope="class")
    @classmethod
    def generator(cls) -> CandidateGenerator:
        return cls.build()

    def test_the_first_candidate_is_the_item_left_out(self, generator: CandidateGenerator) -> None:
        first = generator.recommend(k=1)
        assert len(first) == USERS
        wanted = [f"i{left_out(int(user[1:])):02d}" for user in first["user_id"]]
        assert first["item_id"].to_list() == wanted

    @pytest.mark.parametrize("k", [1, 5, ITEMS, 10 * ITEMS])
    def test_lists_are_at_most_k_long_and_never_padded(
        self, generator: CandidateGenerator, k: int
    ) -> None:
        # case recsys#1, #10; implicit #172, #557, #345, #736
        answer = generator.answer(k=k)
        taken = ITEMS // 2 - 1
        counts = answer.frame.group_by("user_id").len()["len"]
        assert counts.max() == min(k, ITEMS - taken)
        assert answer.frame.unique(["user_id", "item_id"]).height == answer.frame.height
        assert np.isfinite(answer.frame["score"].to_numpy()).all()

    def test_what_was_taken_does_not_come_back(self, generator: CandidateGenerator) -> None:
        # case recsys#3; implicit #345
        both = generator.recommend(k=ITEMS).join(checkerboard(), on=["user_id", "item_id"])
        assert both.height == 0

    def test_scores_never_rise_along_a_list_and_ranks_count_from_one(
        self, generator: CandidateGenerator
    ) -> None:
        # case implicit #620, #627
        for _, part in generator.recommend(k=8).group_by("user_id", maintain_order=True):
            assert (part["score"].diff().drop_nulls() <= 0).all()
            assert part["rank"].to_list() == list(range(1, part.height + 1))

    def test_a_short_list_is_the_beginning_of_a_long_one(
        self, generator: CandidateGenerator
    ) -> None:
        # case implicit #627
        short, long = generator.recommend(k=3), generator.recommend(k=12)
        assert short["item_id"].to_list() == long.filter(pl.col("rank") <= 3)["item_id"].to_list()

    def test_a_user_alone_is_answered_as_in_a_crowd(self, generator: CandidateGenerator) -> None:
        # case LightFM #556 (batch == single)
        crowd = generator.recommend(k=5)
        for user in ("u00", "u17"):
            alone = generator.recommend([user], k=5)
            same = crowd.filter(pl.col("user_id") == user)
            assert alone["item_id"].to_list() == same["item_id"].to_list()
            np.testing.assert_allclose(alone["score"], same["score"], atol=1e-5)

    def test_a_session_with_the_history_of_a_user_gets_the_same_answer(
        self, generator: CandidateGenerator
    ) -> None:
        # case implicit #592
        history = checkerboard().filter(pl.col("user_id") == "u03")["item_id"].to_list()
        session = generator.recommend_sessions([history], k=5)
        stored = generator.recommend(["u03"], k=5)
        assert session["item_id"].to_list() == stored["item_id"].to_list()

    def test_saved_and_loaded_it_answers_the_same(
        self, generator: CandidateGenerator, tmp_path: Path
    ) -> None:
        generator.save(tmp_path / "bundle")
        loaded = CandidateGenerator.load(tmp_path / "bundle")
        assert loaded.recommend(k=7).equals(generator.recommend(k=7))
        assert loaded.fingerprint == generator.fingerprint

    def test_related_items_leave_the_item_itself_out(self, generator: CandidateGenerator) -> None:
        related = generator.related(["i00", "i01"], k=5)
        assert (related["item_id"] != related["related_id"]).all()
        colour = related.select(
            same=pl.col("item_id").str.slice(1).cast(int) % 2
            == pl.col("related_id").str.slice(1).cast(int) % 2
        )
        assert colour["same"].all()

    def test_the_same_seed_gives_the_same_candidates(self, generator: CandidateGenerator) -> None:
        again = self.build()
        assert again.recommend(k=9).equals(generator.recommend(k=9))


class TestCooccurrence(Laws):
    cooccurrence = CooccurrenceSettings()


class TestBag(Laws):
    tower = QUICK


class TestUnion(Laws):
    tower = QUICK
    cooccurrence = CooccurrenceSettings()


@pytest.mark.parametrize(
    "baseline",
    [
        Bestsellers(),
        ImplicitModel("cosine"),
        ImplicitModel("tfidf"),
        ImplicitModel("bm25"),
        ImplicitModel("als", factors=8),
        ImplicitModel("bpr", factors=8),
        Ease(1.0),
    ],
    ids=lambda baseline: baseline.name,
)
def test_what_a_baseline_pads_never_reaches_the_evaluator(baseline: Baseline) -> None:
    # case recsys#1, #2, #3, #5, #14
    known = Interactions.read(checkerboard())
    listed = baseline.candidates(known, k=10 * ITEMS)
    assert listed.unique(["user_id", "item_id"]).height == listed.height
    assert listed.join(checkerboard(), on=["user_id", "item_id"]).height == 0
    assert listed.group_by("user_id").len()["len"].max() <= ITEMS // 2 + 1
    assert (listed["score"] > -1e30).all()
