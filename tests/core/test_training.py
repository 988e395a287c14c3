"""The trainer: choice by probe, resume bit for bit, and what it refuses."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from likewise.core.encoders.bags import Bags
from likewise.core.encoders.dual import DualEncoder
from likewise.core.encoders.encoders import VectorEncoder
from likewise.core.encoders.item_bag import ItemBagEncoder
from likewise.core.errors import (
    BundleFormatError,
    ChecksumMismatch,
    DimensionalCollapse,
    NonFiniteError,
    RepresentationCollapse,
    SettingError,
    ShapeError,
    TooFewRows,
)
from likewise.core.negatives.queues import Queue
from likewise.core.negatives.samplers import InBatch, NegativeSampler
from likewise.core.objective.masks import SameGroup
from likewise.core.objective.objective import ContrastiveObjective
from likewise.core.training.capacity import size_batches
from likewise.core.training.checkpoint import read_checkpoint, write_checkpoint
from likewise.core.training.history import TrainingHistory
from likewise.core.training.memory import measure_memory
from likewise.core.training.pairs import Pairs
from likewise.core.training.recall_probe import RecallProbe
from likewise.core.training.schedule import TrainerSettings, learning_rate_at, make_optimiser
from likewise.core.training.trainer import LATEST, Trainer
from likewise.core.training.tuning import analyse_temperature, sweep

from tests.core.planted import Planted, make_towers
from tests.naive import naive_softmax_reading


class Killed(BaseException):
    """What a signal looks like from inside."""


class Fatal(Planted):
    """Dies when asked for a batch for the n-th time."""

    def __init__(self, rows: int, after: int, **settings: Any) -> None:
        super().__init__(rows, **settings)
        self.after = after

    def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
        if len(self.asked) == self.after:
            raise Killed
        return super().batch(rows, generator)


def make_trainer(
    folder: Path | None = None,
    *,
    sampler: NegativeSampler | None = None,
    layout: str = "cross",
    **settings: Any,
) -> Trainer:
    values: dict[str, Any] = {
        "epochs": 4,
        "batch_size": 24,
        "learning_rate": 1e-2,
        "seed": 11,
        **settings,
    }
    objective = ContrastiveObjective(layout, symmetric=layout == "cross")  # type: ignore[arg-type]
    towers = make_towers(dropout=0.2)
    return Trainer(towers, objective, checkpoint_dir=folder, sampler=sampler, **values)


def untimed(history: TrainingHistory) -> TrainingHistory:
    epochs = [replace(record, seconds=0.0, rows_per_second=0.0) for record in history.epochs]
    return replace(history, epochs=epochs)


def same_weights(first: torch.nn.Module, second: torch.nn.Module) -> bool:
    one, other = first.state_dict(), second.state_dict()
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


def test_planted_pairs_are_learned() -> None:
    source = Planted(96)
    trainer = make_trainer(epochs=30)
    before = source.recall(trainer.encoder)
    history = trainer.fit(source, source.recall)
    assert source.recall(trainer.encoder) > max(0.6, 3 * before)
    assert history.best_probe == source.recall(trainer.encoder)


@pytest.mark.parametrize("after", [1, 5, 8, 13])
@pytest.mark.parametrize("kind", ["in-batch", "queue", "queue-layout"])
def test_a_killed_run_resumes_as_if_it_had_not_been(
    tmp_path: Path, after: int, kind: str
) -> None:  # case core#33
    def build(folder: Path | None = None) -> Trainer:
        if kind == "in-batch":
            return make_trainer(folder)
        layout = "queue" if kind == "queue-layout" else "explicit"
        return make_trainer(folder, sampler=Queue(40, momentum=0.9), layout=layout)

    whole = build()
    unbroken = whole.fit(Planted(100, augmented=True), Planted(100).recall)
    first = build(tmp_path)
    with pytest.raises(Killed):
        first.fit(Fatal(100, after, augmented=True), Planted(100).recall)
    second = build()
    source = Planted(100, augmented=True)
    resumed = second.resume(tmp_path / LATEST, source, source.recall)
    order = [rows for epoch in range(4) for rows in asked_rows(whole, 100, epoch)]
    assert source.asked[0] == order[after]
    assert untimed(resumed) == untimed(unbroken)
    assert same_weights(second.encoder, whole.encoder)
    assert same_weights(second.objective, whole.objective)
    assert same_tree(second.sampler.state_dict(), whole.sampler.state_dict())


def asked_rows(trainer: Trainer, rows: int, epoch: int) -> list[list[int]]:
    fresh = Planted(rows)
    make_trainer(epochs=epoch + 1, seed=trainer.settings.seed).fit(fresh)
    return fresh.asked[-(rows // 24) :]


def same_tree(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same_tree(first[k], second[k]) for k in first)
    return bool(first == second)


def test_a_run_killed_inside_an_update_keeps_its_last_whole_checkpoint(tmp_path: Path) -> None:
    class Breaking(InBatch):
        left = 5

        def commit(self, encoder: DualEncoder) -> None:
            self.left -= 1
            if self.left == 0:
                raise Killed

    whole = make_trainer()
    unbroken = whole.fit(Planted(100))
    with pytest.raises(Killed):
        make_trainer(tmp_path, sampler=Breaking(), checkpoint_every=2).fit(Planted(100))
    state = read_checkpoint(tmp_path / LATEST)
    assert (state["epoch"], state["batch"]) == (1, 0)
    again = make_trainer()
    assert untimed(again.resume(tmp_path / LATEST, Planted(100))) == untimed(unbroken)
    assert same_weights(again.encoder, whole.encoder)


def test_a_periodic_checkpoint_resumes_too(tmp_path: Path) -> None:
    whole = make_trainer()
    unbroken = whole.fit(Planted(100))
    make_trainer(tmp_path, checkpoint_every=3, epochs=4).fit(Planted(100))
    state = read_checkpoint(tmp_path / LATEST)
    assert (state["epoch"], state["batch"]) == (4, 0)
    again = make_trainer()
    assert untimed(again.resume(tmp_path / LATEST, Planted(100))) == untimed(unbroken)
    assert same_weights(again.encoder, whole.encoder)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    make_trainer(tmp_path).fit(Planted(60))
    path = tmp_path / LATEST
    with pytest.raises(SettingError, match=r"settings was .* is "):
        make_trainer(learning_rate=0.5).resume(path, Planted(60))
    with pytest.raises(SettingError, match="pairs was 60, is 61"):
        make_trainer().resume(path, Planted(61))
    with pytest.raises(SettingError, match="sampler was"):
        make_trainer(sampler=Queue(40), layout="explicit").resume(path, Planted(60))


def test_orders_differ_between_epochs_and_repeat_between_runs() -> None:  # case core#31
    first, second, other = Planted(96), Planted(96), Planted(96)
    make_trainer(epochs=2).fit(first)
    make_trainer(epochs=2).fit(second)
    make_trainer(epochs=2, seed=12).fit(other)
    assert first.asked == second.asked
    assert first.asked[:4] != first.asked[4:]
    for epoch in (first.asked[:4], first.asked[4:]):
        assert sorted(row for rows in epoch for row in rows) == list(range(96))
    assert first.asked != other.asked


def test_the_same_seed_gives_the_same_weights() -> None:
    trainers = [make_trainer(), make_trainer()]
    for trainer in trainers:
        torch.rand(3)  # a run does not hang on the global generator
        trainer.fit(Planted(60, augmented=True))
    assert same_weights(trainers[0].encoder, trainers[1].encoder)


def test_a_short_last_batch_is_dropped_and_said(tmp_path: Path) -> None:  # case core#26
    source = Planted(100)
    history = make_trainer(epochs=2).fit(source)
    assert {len(rows) for rows in source.asked} == {24}
    assert [record.dropped_rows for record in history.epochs] == [4, 4]
    assert "drops 4 of 100" in history.batch_note
    assert {record.candidates for record in history.steps} == {24.0}


def test_fewer_pairs_than_a_batch_make_one_batch() -> None:
    source = Planted(20)
    history = make_trainer(epochs=1).fit(source)
    assert history.batch_size == 20
    assert history.epochs[0].dropped_rows == 0
    with pytest.raises(TooFewRows, match="2 pairs or more"):
        make_trainer().fit(Planted(1))


def test_the_probe_decides_and_never_the_loss() -> None:
    recalls = iter([0.2, 0.9, 0.5, 0.4, 0.3])
    kept: list[dict[str, torch.Tensor]] = []

    def probe(encoder: torch.nn.Module) -> float:
        kept.append({name: value.clone() for name, value in encoder.state_dict().items()})
        return next(recalls)

    trainer = make_trainer(epochs=20, patience=3)
    history = trainer.fit(Planted(60), probe)
    assert (history.best_epoch, history.best_probe) == (1, 0.9)
    assert history.stopped == "no better probe for 3 epochs"
    assert [record.best for record in history.epochs] == [True, True, False, False, False]
    assert history.epochs[-1].loss < history.epochs[1].loss
    weights = trainer.encoder.state_dict()
    assert all(torch.equal(weights[name], kept[1][name]) for name in weights)


def test_a_probe_that_is_no_number_is_refused() -> None:
    with pytest.raises(NonFiniteError, match="probe after epoch 0"):
        make_trainer().fit(Planted(60), lambda _encoder: float("nan"))


def test_chunks_do_not_change_what_is_learned() -> None:
    histories = []
    for size in (4096, 7):
        towers = DualEncoder(VectorEncoder(6, 8), VectorEncoder(6, 8, seed=1))
        trainer = Trainer(
            towers, ContrastiveObjective(), epochs=3, batch_size=24, chunk_size=size, seed=1
        )
        histories.append(trainer.fit(Planted(96)))
    whole, parts = ([record.loss for record in history.steps] for history in histories)
    assert parts == pytest.approx(whole, rel=1e-3)


def test_a_collapsed_encoder_ends_the_run() -> None:
    towers = make_towers()
    for p in towers.parameters():
        p.requires_grad_(False).zero_()
    for tower in (towers.anchor_encoder, towers.candidate_encoder):
        assert isinstance(tower, VectorEncoder)
        tower.body[-1].bias.fill_(1.0)  # type: ignore[union-attr,operator]
        tower.body[-1].weight.requires_grad_(True)  # type: ignore[union-attr]
    trainer = Trainer(towers, ContrastiveObjective(), epochs=60, batch_size=48, learning_rate=1e-9)
    with pytest.raises(RepresentationCollapse, match="mean cosine"):
        trainer.fit(Planted(96))


def test_a_temperature_stays_in_its_bounds_while_training() -> None:
    objective = ContrastiveObjective(temperature=0.011)
    trainer = Trainer(make_towers(), objective, epochs=10, batch_size=48, learning_rate=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history = trainer.fit(Planted(96))
    assert all(0.01 - 1e-6 <= record.temperature <= 1 + 1e-6 for record in history.steps)


class Histories:
    """Bags of items from one of six groups, each to find another item of its group."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        groups = torch.arange(240) % 6
        self.items = groups[:, None] * 5 + torch.randint(5, (240, 4), generator=generator)
        self.bags = Bags.of(self.items[:, :3].tolist())

    def __len__(self) -> int:
        return len(self.bags)

    def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
        groups = SameGroup(rows % 6)
        taken = self.items[rows, 3]
        return Pairs(self.bags[rows], Bags.singles(taken), (groups,), ids=taken)


def test_histories_and_items_share_one_encoder() -> None:
    source = Histories()
    towers = DualEncoder(ItemBagEncoder(30, 8))
    trainer = Trainer(
        towers,
        ContrastiveObjective(),
        epochs=20,
        batch_size=48,
        learning_rate=3e-2,
        chunk_size=20,
        sampler=InBatch(torch.bincount(source.items[:, 3], minlength=30) / 240),
    )
    trainer.fit(source)
    scores = towers.encode_anchors(source.bags) @ (
        towers.encode_candidates(Bags.singles(torch.arange(30))).T
    )
    assert bool((scores.argmax(dim=1) // 5 == torch.arange(240) % 6).float().mean() > 0.95)


@pytest.mark.parametrize("k", [1, 5, 200])
def test_a_recall_probe_counts_as_a_loop_does(k: int) -> None:
    source, towers = Planted(60), make_towers()
    truth = torch.arange(60).flip(0)
    probe = RecallProbe(source.anchors, source.positives, truth, k=k)
    scores = towers.encode_anchors(source.anchors) @ towers.encode_candidates(source.positives).T
    found = 0
    for row in range(60):
        better = int((scores[row] > scores[row, truth[row]] + 1e-7).sum())
        found += better < k
    assert probe(towers) == pytest.approx(found / 60)


def test_a_probe_needs_one_true_candidate_an_anchor() -> None:
    source = Planted(10)
    for truth in (torch.arange(9), torch.arange(10) + 1, torch.arange(10) - 1):
        with pytest.raises(ShapeError, match="one row of the candidates an anchor"):
            RecallProbe(source.anchors, source.positives, truth)
    with pytest.raises(SettingError, match="k is 0"):
        RecallProbe(source.anchors, source.positives, torch.arange(10), k=0)


def test_progress_sees_every_epoch() -> None:
    seen: list[tuple[str, int | None]] = []

    def watch(items: Iterable[Any], label: str, total: int | None = None) -> Iterator[Any]:
        seen.append((label, total))
        return iter(items)

    make_trainer(epochs=3, progress=watch).fit(Planted(48))
    assert seen == [("training", 3)]


def test_a_history_is_two_tables() -> None:
    history = make_trainer(epochs=2).fit(Planted(96))
    assert history.epochs_table().height == 2
    steps = history.steps_table()
    assert steps.height == 8
    assert {"loss", "candidates", "chance_loss", "learning_rate", "queue_age"} <= set(steps.columns)
    assert TrainingHistory.of_state(history.as_state()) == history


def test_impossible_settings_are_told_together() -> None:
    with pytest.raises(SettingError, match=r"epochs=0, learning_rate=-1\.0, warmup_share=1\.0"):
        make_trainer(epochs=0, learning_rate=-1.0, warmup_share=1.0)


def test_the_rate_climbs_then_falls() -> None:
    settings = TrainerSettings(
        epochs=1,
        batch_size=2,
        memory_budget=None,
        learning_rate=1.0,
        weight_decay=0.0,
        warmup_share=0.25,
        clip_norm=1.0,
        patience=1,
        chunk_size=1,
        seed=0,
    )
    rates = [learning_rate_at(step, 20, settings) for step in range(20)]
    assert rates[:6] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert 0 < rates[-1] < 0.02


def test_biases_and_the_temperature_do_not_decay() -> None:
    trainer = make_trainer()
    optimiser = make_optimiser(trainer.encoder, trainer.objective, trainer.settings)
    decayed, kept = optimiser.param_groups
    assert all(p.dim() >= 2 for p in decayed["params"])
    assert kept["weight_decay"] == 0.0
    assert any(p is trainer.objective.log_scale for p in kept["params"])


def test_a_checkpoint_gives_back_its_tree(tmp_path: Path) -> None:
    shared = torch.arange(4.0)
    state = {
        "a": [1, 2.5, None, "x", {"b": shared}],
        "c": shared,
        "d": torch.zeros(0, 3),
        "e": torch.tensor(7),
    }
    path = tmp_path / "deep" / "one.checkpoint"
    write_checkpoint(path, state)
    back = read_checkpoint(path)
    assert back["a"][:4] == [1, 2.5, None, "x"]
    assert torch.equal(back["a"][4]["b"], shared)
    assert torch.equal(back["c"], shared)
    assert back["d"].shape == (0, 3)
    assert back["e"].item() == 7
    assert [file.name for file in path.parent.iterdir()] == ["one.checkpoint"]


def test_a_broken_write_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.checkpoint"
    write_checkpoint(path, {"step": 1})

    def full(_file: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("likewise.core.training.checkpoint.os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_checkpoint(path, {"step": 2})
    assert read_checkpoint(path) == {"step": 1}


def test_a_flipped_byte_and_a_stranger_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    write_checkpoint(path, {"weights": torch.ones(100)})
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(ChecksumMismatch):
        read_checkpoint(path)
    path.write_bytes(content[:40])
    with pytest.raises(BundleFormatError):
        read_checkpoint(path)
    with pytest.raises(BundleFormatError):
        read_checkpoint(tmp_path / "missing")


def test_a_sweep_judges_on_recall_and_keeps_broken_trials() -> None:
    source = Planted(60)

    def build(temperature: float, rate: float) -> Trainer:
        objective = ContrastiveObjective(temperature=temperature, learnable=False)
        return Trainer(make_towers(), objective, epochs=3, batch_size=30, learning_rate=rate)

    result = sweep(
        build, source, source.recall, temperatures=(0.1, 0.5), learning_rates=(1e-2, 1e30)
    )
    assert [(t.temperature, t.learning_rate) for t in result.trials] == [
        (0.1, 1e-2),
        (0.1, 1e30),
        (0.5, 1e-2),
        (0.5, 1e30),
    ]
    assert [trial.recall is None for trial in result.trials] == [False, True, False, True]
    assert result.best.recall == max(t.recall for t in result.trials if t.recall is not None)
    assert result.table().height == 4
    assert "NaN" in result.trials[1].fault


@pytest.mark.parametrize("temperature", [0.05, 0.5, 5.0])
def test_a_temperature_reading_equals_its_twin(temperature: float) -> None:
    source = Planted(20)
    reading = analyse_temperature(source.anchors, source.positives, [temperature])[0]
    entropy, largest = naive_softmax_reading(source.anchors, source.positives, temperature)
    assert reading.entropy == pytest.approx(entropy, rel=1e-4)
    assert reading.largest_weight == pytest.approx(largest, rel=1e-4)


def test_entropy_rises_with_temperature() -> None:
    source = Planted(20)
    readings = analyse_temperature(source.anchors, source.positives, [0.02, 0.1, 1.0, 100.0])
    shares = [reading.share for reading in readings]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(SettingError, match="positive"):
        analyse_temperature(source.anchors, source.positives, [0.0])


def test_a_history_reads_in_one_line() -> None:
    source = Planted(48)
    history = make_trainer(epochs=2).fit(source, source.recall)
    line = repr(history)
    assert line.startswith("TrainingHistory(2 epochs, 4 steps of 24 pairs, best probe 0.")
    assert "temperature 0.0" in line
    assert "\n" not in line
    assert len(line) < 120


def test_a_trainer_takes_the_largest_batch_that_fits(tmp_path: Path) -> None:
    source = Planted(96)
    model = measure_memory(make_towers(dropout=0.2), source.batch(torch.arange(64), None))  # type: ignore[arg-type]
    budget = model.predict(32)
    trainer = make_trainer(tmp_path, batch_size=None, memory_budget=budget, epochs=2)
    history = trainer.fit(source)
    assert history.batch_size == 32
    assert f"31 negatives, the most that fits: {budget:,} of {budget:,} bytes" in history.batch_note
    again = make_trainer(tmp_path, batch_size=None, memory_budget=budget, epochs=2)
    assert again.resume(tmp_path / LATEST, source).batch_size == 32


@given(st.integers(2, 200), st.integers(1, 500))
@hypothesis_settings(max_examples=20, deadline=None)
def test_a_sized_batch_fits_and_its_double_would_not(rows: int, share: int) -> None:
    source, towers = Planted(rows), make_towers()
    sample = source.batch(torch.arange(min(rows, 64)), torch.Generator())
    model = measure_memory(towers, sample)
    budget = model.predict(2) + share * 1000
    chosen = make_trainer(batch_size=None, memory_budget=budget, chunk_size=8).settings
    size, _ = size_batches(towers, source, chosen)
    assert model.predict(size, 8) <= budget
    assert 2 * size > rows or model.predict(2 * size, 8) > budget


def test_a_budget_goes_with_an_open_batch_size_only() -> None:
    with pytest.raises(SettingError, match="memory_budget"):
        make_trainer(batch_size=None)
    with pytest.raises(SettingError, match="memory_budget"):
        make_trainer(memory_budget=10**9)
    with pytest.raises(SettingError, match="a batch of 2 needs"):
        make_trainer(batch_size=None, memory_budget=1).fit(Planted(48))


class Narrowing(Planted):
    """Wide data at first, then only one direction of them."""

    def __init__(self, rows: int, *, narrows: bool) -> None:
        super().__init__(rows)
        generator = torch.Generator().manual_seed(1)
        wide = torch.randn(rows, 24, generator=generator)
        thin = wide[:, :2] @ torch.randn(2, 24, generator=generator)
        self.wide, self.thin, self.narrows = wide, thin, narrows

    def batch(self, rows: torch.Tensor, generator: torch.Generator) -> Pairs:
        rich = self.narrows and not self.asked
        self.asked.append(rows.tolist())
        images = (self.wide if rich else self.thin)[rows]
        return Pairs(images, images + 0.01)


@pytest.mark.parametrize("narrows", [True, False])
def test_a_thin_space_is_warned_of_only_where_training_made_it_thin(narrows: bool) -> None:
    towers = DualEncoder(VectorEncoder(24, 24, hidden=(32,)))
    trainer = Trainer(
        towers, ContrastiveObjective(), epochs=30, batch_size=48, learning_rate=1e-4, seed=0
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        trainer.fit(Narrowing(96, narrows=narrows))
    assert [warning.category for warning in told] == [DimensionalCollapse] * narrows
