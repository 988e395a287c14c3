"""Teaching: what closed forms answer to whole histories, and how it joins a question's answers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from likewise.recsys import Cooccurrence, Histories, Interactions, Tower, TowerSettings
from likewise.recsys.bag import BagEncoder
from likewise.recsys.softmax import Targets
from likewise.recsys.sources import Blend
from likewise.recsys.teaching import ask_teacher, soften

from tests.recsys.planted import QUICK, checkerboard, random_events

NONE = torch.zeros(0, dtype=torch.int64)


def answers_to(histories: Histories) -> Histories:
    return ask_teacher(Blend([Cooccurrence(histories)], {"cooccurrence": 1.0}, {}), histories)


def test_a_teacher_answers_whole_histories_with_what_is_new_to_them() -> None:
    histories = Interactions.read(random_events(3)).histories
    answers = answers_to(histories)
    assert len(answers) == len(histories)
    source = Cooccurrence(histories)
    for row, (taken, told) in enumerate(zip(histories, answers, strict=True)):
        scores = source.score(histories.take(slice(row, row + 1)))[0]
        expected = np.setdiff1d(np.flatnonzero(scores > 0), taken)
        assert sorted(told.tolist()) == expected.tolist()
        weights = answers.weights[answers.offsets[row] : answers.offsets[row + 1]]
        if len(told):
            sharp = scores[told].astype(float) ** 3
            np.testing.assert_allclose(weights, sharp / sharp.sum(), rtol=1e-4)


def test_a_history_that_nothing_follows_has_an_empty_answer() -> None:
    answers = answers_to(Histories.of([[0, 1], [0, 1, 2], [3]], width=4))
    assert answers.lengths.tolist() == [1, 0, 0]
    assert answers.weights.tolist() == [1.0]


def test_answers_share_each_question_with_its_own_targets() -> None:
    # The first has both, the second only the teacher, the third only its own.
    own = Targets(
        torch.tensor([0, 0, 2]), torch.tensor([1, 2, 5]), torch.tensor([0.5, 0.5, 1.0]), NONE, NONE
    )
    answers = Histories(
        np.array([3, 4, 6]),
        np.array([0, 2, 3, 3]),
        np.array([0.75, 0.25, 1.0], dtype=np.float32),
        width=9,
    )
    mixed = soften(own, answers, share=0.8)
    told = {
        (int(owner), int(column)): round(float(weight), 6)
        for owner, column, weight in zip(mixed.owners, mixed.columns, mixed.weights, strict=True)
    }
    assert told == {
        (0, 1): 0.1,
        (0, 2): 0.1,
        (2, 5): 1.0,
        (0, 3): 0.6,
        (0, 4): 0.2,
        (1, 6): 1.0,
    }


def test_as_much_of_a_history_is_shown_as_is_asked_and_the_rest_is_to_be_found() -> None:
    histories = Histories.of([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], width=12)
    asked = BagEncoder(12, 4).ask(histories, np.random.default_rng(0), np.array([0.5, 1.0]))
    assert np.bincount(asked.targets.hidden_owners).tolist() == [3, 6]
    assert asked.targets.owners.tolist() == [0, 0, 0]
    assert set(asked.targets.hidden_columns.tolist()) | set(asked.targets.columns.tolist()) == set(
        range(12)
    )


@pytest.mark.parametrize("whole", [0.0, 1.0])
def test_a_taught_tower_knows_what_its_teacher_knows(whole: float) -> None:
    histories = Interactions.read(checkerboard()).histories
    settings = TowerSettings(
        width=8, epochs=12, batch_size=16, learning_rate=0.02, teacher_share=1.0, whole=whole
    )
    scores = Tower(settings).fit(histories, answers=answers_to(histories)).score(histories)
    colour = (np.arange(len(histories)) % 2)[:, None] == (np.arange(histories.width) % 2)[None, :]
    assert scores[colour].min() > scores[~colour].max()


def test_a_sequence_is_not_taught() -> None:
    histories = Interactions.read(random_events(1)).histories
    settings = TowerSettings(kind="sequence", width=8, epochs=1, batch_size=16)
    alone = Tower(settings).fit(histories)
    beside = Tower(settings).fit(histories, answers=answers_to(histories))
    assert alone.fingerprint_ == beside.fingerprint_
    assert QUICK.teacher_share > 0
