"""Co-occurrence, towers and the cold tower, one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likewise.core import ColumnError, NonFiniteError, SettingError, TooFewRows
from likewise.recsys import (
    CandidateGenerator,
    ContentEncoder,
    Cooccurrence,
    CooccurrenceSettings,
    Histories,
    Interactions,
    LinearItems,
    LinearSettings,
    Tower,
    TowerSettings,
    brought_by,
    choose_settings,
    explain,
)
from likewise.recsys.cold import ContentMap
from scipy import sparse

from tests.naive_recsys import naive_cooccurrence
from tests.recsys.planted import QUICK, checkerboard, random_events

LISTS = st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=1, max_size=8)


@settings(max_examples=30)
@given(LISTS, st.sets(st.integers(0, 7), min_size=1))
def test_co_occurrence_walks_over_all_users(lists: list[set[int]], asked: set[int]) -> None:
    histories = [sorted(one) for one in lists]
    exponents = (0.8, 0.6, 0.3)
    source = Cooccurrence(
        Histories.of(histories, width=8),
        CooccurrenceSettings(
            user_exponent=0.8, history_exponent=0.6, candidate_exponent=0.3, neighbours=8
        ),
    )
    fast = source.score(Histories.of([sorted(asked)], width=8))[0]
    slow = naive_cooccurrence(histories, sorted(asked), 8, exponents)
    np.testing.assert_allclose(fast, slow, rtol=1e-5, atol=1e-6)


def test_the_linear_source_predicts_each_item_from_all_others() -> None:
    known = Interactions.read(random_events(2)).histories
    source = LinearItems(known, LinearSettings(regularisation=5.0))
    taken = (known.matrix.toarray() > 0).astype(float)
    for item in (0, 3, 7):
        # Ridge regression of one column on the others, its own weight held at zero.
        others = np.delete(np.arange(known.width), item)
        gram = taken[:, others].T @ taken[:, others] + 5.0 * np.eye(len(others))
        weights = np.linalg.solve(gram, taken[:, others].T @ taken[:, item])
        np.testing.assert_allclose(source.weights[others, item], weights, atol=1e-4)
    assert not np.diag(source.weights).any()
    with pytest.raises(SettingError, match="most_items"):
        LinearItems(known, LinearSettings(most_items=3))


def test_the_linear_source_is_taken_where_it_helps_and_kept_by_the_bundle(tmp_path: Path) -> None:
    generator = CandidateGenerator(tower=None, linear=LinearSettings()).fit(random_events(2))
    assert set(generator.sources_) == {"popularity", "cooccurrence", "linear"}
    generator.save(tmp_path / "bundle")
    loaded = CandidateGenerator.load(tmp_path / "bundle")
    assert loaded.recommend(k=5).equals(generator.recommend(k=5))


def test_only_the_strongest_links_are_kept() -> None:
    known = Interactions.read(random_events(0)).histories
    whole = Cooccurrence(known).links.toarray()
    short = Cooccurrence(known, CooccurrenceSettings(neighbours=3)).links
    assert np.diff(short.indptr).max() == 3
    for row in range(whole.shape[0]):
        kept = short[row].data
        assert sorted(kept) == sorted(whole[row])[-len(kept) :]


def test_what_brought_a_candidate_adds_up_to_its_score() -> None:
    source = Cooccurrence(Interactions.read(random_events(0)).histories)
    history = np.array([0, 3, 5])
    total = source.score(Histories.of([history], width=source.links.shape[0]))[0]
    for candidate in (1, 4):
        assert source.brought_by(history, candidate).sum() == pytest.approx(total[candidate])


def test_evidence_names_the_items_of_the_history() -> None:
    generator = CandidateGenerator(tower=None).fit(checkerboard())
    named = brought_by(generator, "u00", "i00", k=30)
    assert set(named["item_id"]) <= set(
        checkerboard().filter(pl.col("user_id") == "u00")["item_id"]
    )
    assert named["share"].sum() == pytest.approx(1.0)


def test_explain_says_which_rule_removed_an_item() -> None:
    # case implicit #365, #316
    generator = CandidateGenerator(tower=None).fit(checkerboard())
    assert explain(generator, "u00", "i02").startswith("seen")
    assert explain(generator, "u00", "i00", exclude=["i00"]).startswith("excluded")
    assert explain(generator, "u00", "i00", include=["i01"]).startswith("not included")
    assert explain(generator, "u00", "nope").startswith("unknown")
    assert explain(generator, "u00", "i00").startswith("rank 1 by cooccurrence: among")


@pytest.mark.parametrize(
    "wrong",
    [{"width": 1}, {"temperature": 0.0}, {"epochs": 0}, {"kind": "tree"}, {"uniform": 2.0}],
)
def test_settings_that_cannot_work_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=next(iter(wrong))):
        TowerSettings(**wrong)  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_tower_and_another_one_another() -> None:
    known = Interactions.read(random_events(1)).histories
    first, again = (Tower(QUICK, seed=3).fit(known) for _ in range(2))
    assert first.fingerprint_ == again.fingerprint_
    assert Tower(QUICK, seed=4).fit(known).fingerprint_ != first.fingerprint_


def test_sampling_the_catalogue_learns_what_the_whole_catalogue_teaches() -> None:
    known = Interactions.read(checkerboard()).histories
    sampled = TowerSettings(
        width=8, epochs=12, batch_size=16, learning_rate=0.02, sampled=16, sampled_exponent=1.0
    )
    scores = Tower(sampled).fit(known).score(known)
    colour = (np.arange(len(known)) % 2)[:, None] == (np.arange(known.width) % 2)[None, :]
    assert scores[colour].min() > scores[~colour].max()


def test_taking_popularity_out_brings_rare_items_forward() -> None:
    # case TFRS #257, LightFM #395: the exponent is a knob that does what it says
    known = Interactions.read(random_events(4, users=300, events=2500))
    counts = known.item_counts

    def popularity(exponent: float) -> float:
        chosen = TowerSettings(
            width=8,
            epochs=8,
            batch_size=64,
            learning_rate=0.02,
            popularity_exponent=exponent,
            smoothing=0.0,
        )
        scores = Tower(chosen).fit(known.histories).score(known.histories)
        return float(np.corrcoef(scores.mean(axis=0), counts)[0, 1])

    assert popularity(1.0) < popularity(0.0)


def test_a_sequence_is_read_in_order() -> None:
    # i -> i + 1 around a ring: only the last item of a history tells what is next.
    ring, lists = 12, []
    generator = np.random.default_rng(0)
    for _ in range(150):
        start = int(generator.integers(ring))
        lists.append([(start + step) % ring for step in range(6)])
    tower = Tower(
        TowerSettings(
            kind="sequence",
            width=16,
            epochs=25,
            batch_size=32,
            learning_rate=0.01,
            dropout=0.0,
            blocks=1,
            longest=8,
        )
    ).fit(Histories.of(lists, width=ring))
    forward = tower.score(Histories.of([[0, 1, 2], [5, 4, 3]], width=ring)).argmax(axis=1)
    assert forward.tolist() == [3, 4]


def test_an_empty_history_has_a_vector_of_zeros() -> None:
    known = Interactions.read(random_events(1)).histories
    tower = Tower(QUICK).fit(known)
    assert not tower.encode(Histories.of([[]], width=known.width)).any()


def described(items: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "item_id": list(range(items)),
            "title": [f"thing {'even' if item % 2 == 0 else 'odd'}" for item in range(items)],
            "tags": [[f"t{item % 2}", "all"] for item in range(items)],
            "price": [float(item % 7) if item % 5 else None for item in range(items)],
        }
    )


def test_an_item_nobody_took_is_recommended_from_its_content() -> None:
    # case T4Rec #363, LightFM #556
    rows = [(user, item) for user in range(80) for item in range(50) if user % 2 == item % 2]
    events = pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")
    generator = CandidateGenerator(tower=QUICK, weights={"tower": 1.0}).fit(events, described())
    new = generator.recommend([0, 1], k=5, include=list(range(50, 60)))
    assert all(user % 2 == item % 2 for user, item in new.select("user_id", "item_id").rows())
    assert new.height == 10


def test_without_content_an_item_nobody_took_is_not_proposed() -> None:
    events = random_events(0)
    generator = CandidateGenerator(tower=None).fit(
        events, pl.DataFrame({"item_id": [*events["item_id"].unique().to_list(), "never"]})
    )
    assert "never" not in generator.recommend(k=100)["item_id"].to_list()


def test_an_unseen_word_changes_nothing_but_its_own_column() -> None:
    encoder = ContentEncoder().fit(described())
    one = encoder.encode(
        pl.DataFrame({"item_id": [1], "title": ["odd"], "tags": [[]], "price": [1.0]})
    )
    two = encoder.encode(
        pl.DataFrame({"item_id": [1], "title": ["odd zebra"], "tags": [[]], "price": [1.0]})
    )
    assert (two != 0).sum() == (one != 0).sum() + 1


def test_the_normaliser_of_content_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    rows = [(user, item) for user in range(40) for item in range(30) if user % 2 == item % 2]
    events = pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")
    dearer = described(30).with_columns(pl.col("price") * 100.0)
    names = []
    for items in (described(30), dearer, None):
        generator = CandidateGenerator(tower=QUICK, cooccurrence=None).fit(events, items)
        generator.save(tmp_path / str(len(names)))
        loaded = CandidateGenerator.load(tmp_path / str(len(names)))
        assert loaded.fingerprint == generator.fingerprint
        names.append(generator.fingerprint)
    assert len(set(names)) == 3


def test_content_faults_are_told() -> None:
    with pytest.raises(ColumnError, match="item_id"):
        ContentEncoder().fit(pl.DataFrame({"title": ["x"]}))
    with pytest.raises(NonFiniteError, match="row 0"):
        ContentEncoder().fit(pl.DataFrame({"item_id": [1], "price": [float("inf")]}))
    with pytest.raises(ColumnError, match="title"):
        ContentEncoder().fit(described()).encode(pl.DataFrame({"item_id": [1]}))
    with pytest.raises(TooFewRows, match="taken"):
        ContentMap.fit(sparse.csr_matrix(np.eye(3)), np.eye(3, dtype=np.float32), np.ones(3, int))


def test_settings_are_chosen_on_events_held_back() -> None:
    choice = choose_settings(checkerboard(), tower=QUICK, k=5)
    assert {"cooccurrence", "tower"} <= set(choice.weights)
    assert set(choice.weights) <= {"cooccurrence", "tower", "spectral", "linear"}
    assert choice.trials["recall"].max() > 0.3
    assert choice.trials["recall"].is_between(0, 1).all()
    assert "chosen" in choice.as_text()
    CandidateGenerator(tower=QUICK, **choice.apply()).fit(checkerboard())


def test_nothing_to_hold_back_is_told() -> None:
    with pytest.raises(TooFewRows, match="long enough"):
        choose_settings(pl.DataFrame({"user_id": [1, 2], "item_id": [1, 1]}))
