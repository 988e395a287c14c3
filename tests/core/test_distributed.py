"""Two gloo processes against one on the union of their rows."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from likewise.core.objective.masks import SameGroup
from likewise.core.objective.objective import ContrastiveObjective
from likewise.core.training.chunking import whole_step
from likewise.core.training.distributed import place_of_process
from likewise.core.training.pairs import Pairs
from likewise.core.training.trainer import Trainer

from tests.core.planted import Planted, gradients, make_towers

PROLOGUE = """
import sys, datetime, torch, torch.distributed as dist
rank, folder = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2,
                        timeout=datetime.timedelta(seconds=60))
from likewise.core.training.distributed import distributed_step
from likewise.core.objective.masks import SameGroup
from likewise.core.objective.objective import ContrastiveObjective
from likewise.core.training.pairs import Pairs
from likewise.core.training.trainer import Trainer
from tests.core.planted import Planted, gradients, make_towers
"""


def start_ranks(folder: Path, body: str) -> tuple[list[int], list[str]]:
    """Run both ranks to their end; give their exit codes and what they said."""
    (folder / "meeting").unlink(missing_ok=True)
    script = folder / "rank.py"
    script.write_text(PROLOGUE + textwrap.dedent(body))
    here = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(here), "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(folder)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        told = [rank.communicate(timeout=240)[1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    return [rank.returncode for rank in ranks], told


def run_ranks(folder: Path, body: str) -> list[dict[str, torch.Tensor]]:
    codes, told = start_ranks(folder, body)
    assert codes == [0, 0], told
    return [torch.load(folder / f"out{rank}.pt", weights_only=True) for rank in range(2)]


def apart(first: torch.Tensor, second: torch.Tensor) -> float:
    return float((first - second).norm() / second.norm())


@pytest.mark.slow
def test_two_ranks_give_the_gradient_of_one_process(tmp_path: Path) -> None:
    """Case core#22, core#23 and core#25: equal gradients, every layout, unequal batches."""
    body = """
    out = {}
    for layout in ("cross", "both-blocks", "ntxent"):
        for cut, chunk in ((24, None), (31, None), (31, 20)):
            source = Planted(48)
            rows = torch.arange(0, cut) if rank == 0 else torch.arange(cut, 48)
            groups = rows // 3
            pairs = Pairs(source.anchors[rows], source.positives[rows], (SameGroup(groups),),
                          log_q=-1 - rows / 48)
            towers, objective = make_towers(head_layers=1), ContrastiveObjective(layout)
            step = distributed_step(towers, objective, pairs, chunk)
            out[f"{layout}-{cut}-{chunk}"] = gradients(towers, objective)
            out[f"{layout}-{cut}-{chunk}-loss"] = step.loss
            out[f"{layout}-{cut}-{chunk}-least"] = torch.tensor(step.candidates_min)
    torch.save(out, f"{folder}/out{rank}.pt")
    """
    ranks = run_ranks(tmp_path, body)
    for layout in ("cross", "both-blocks", "ntxent"):
        source = Planted(48)
        rows = torch.arange(48)
        pairs = Pairs(
            source.anchors, source.positives, (SameGroup(rows // 3),), log_q=-1 - rows / 48
        )
        towers, objective = make_towers(head_layers=1), ContrastiveObjective(layout)  # type: ignore[arg-type]
        step = whole_step(towers, objective, pairs)
        for cut, chunk in ((24, None), (31, None), (31, 20)):
            for rank in ranks:
                assert apart(rank[f"{layout}-{cut}-{chunk}"], gradients(towers, objective)) < 1e-5
                assert float(rank[f"{layout}-{cut}-{chunk}-loss"]) == pytest.approx(
                    float(step.loss), rel=1e-5
                )
                assert int(rank[f"{layout}-{cut}-{chunk}-least"]) == step.candidates_min


@pytest.mark.slow
def test_a_trainer_under_torchrun_learns_what_one_process_learns(tmp_path: Path) -> None:
    body = """
    source = Planted(96)
    trainer = Trainer(make_towers(), ContrastiveObjective(), epochs=2, batch_size=45, seed=4,
                      checkpoint_dir=f"{folder}/run{rank}")
    history = trainer.fit(source, source.recall)
    weights = torch.cat([p.detach().reshape(-1) for p in trainer.encoder.parameters()])
    asked = torch.tensor([len(rows) for rows in source.asked])
    torch.save({"weights": weights, "asked": asked}, f"{folder}/out{rank}.pt")
    """
    ranks = run_ranks(tmp_path, body)
    source = Planted(96)
    trainer = Trainer(make_towers(), ContrastiveObjective(), epochs=2, batch_size=45, seed=4)
    trainer.fit(source, source.recall)
    weights = torch.cat([p.detach().reshape(-1) for p in trainer.encoder.parameters()])
    assert torch.equal(ranks[0]["weights"], ranks[1]["weights"])
    assert apart(ranks[0]["weights"], weights) < 1e-4
    assert ranks[0]["asked"].tolist() == [23] * 4
    assert ranks[1]["asked"].tolist() == [22] * 4
    assert (tmp_path / "run0").exists()
    assert not (tmp_path / "run1").exists()


@pytest.mark.slow
def test_a_rank_without_rows_stops_all_and_none_hangs(tmp_path: Path) -> None:
    body = """
    from likewise.core.errors import SettingError, TooFewRows
    source = Planted(48)
    towers, objective = make_towers(), ContrastiveObjective()
    told = 0
    rows = torch.arange(48 if rank == 0 else 0)
    try:
        distributed_step(towers, objective, Pairs(source.anchors[rows], source.positives[rows]))
    except TooFewRows as error:
        told += "ranks [1]" in str(error)
    pairs = Pairs(source.anchors, source.positives, queued=source.positives)
    try:
        distributed_step(towers, objective, pairs)
    except SettingError as error:
        told += "not shared between processes" in str(error)
    torch.save({"told": torch.tensor(told)}, f"{folder}/out{rank}.pt")
    """
    assert [int(rank["told"]) for rank in run_ranks(tmp_path, body)] == [2, 2]


@pytest.mark.slow
def test_a_rank_that_dies_ends_the_run_and_it_resumes(tmp_path: Path) -> None:
    make = """
    import os
    class Fatal(Planted):
        def batch(self, rows, generator):
            if rank == 1 and len(self.asked) == 5:
                os._exit(9)
            return super().batch(rows, generator)
    def make_trainer():
        return Trainer(make_towers(dropout=0.2), ContrastiveObjective(), epochs=4, batch_size=48,
                       seed=4, checkpoint_dir=f"{folder}/run{rank}")
    def keep(trainer):
        weights = torch.cat([p.detach().reshape(-1) for p in trainer.encoder.parameters()])
        torch.save({"weights": weights}, f"{folder}/out{rank}.pt")
    """
    dies = (
        make
        + """
    make_trainer().fit(Fatal(96))
    """
    )
    goes_on = (
        make
        + """
    trainer = make_trainer()
    trainer.resume(f"{folder}/run0/latest.checkpoint", Planted(96))
    keep(trainer)
    """
    )
    unbroken = (
        make
        + """
    trainer = make_trainer()
    trainer.fit(Planted(96))
    keep(trainer)
    """
    )
    (survivor, dead), told = start_ranks(tmp_path, dies)
    assert dead == 9
    assert survivor != 0
    assert "ProcessLost: another process of the run ended or stopped answering" in told[0]
    assert "resume from the last checkpoint" in told[0]
    resumed = run_ranks(tmp_path, goes_on)
    whole = run_ranks(tmp_path, unbroken)
    assert torch.equal(resumed[0]["weights"], resumed[1]["weights"])
    assert torch.equal(resumed[0]["weights"], whole[0]["weights"])


def test_a_single_process_is_the_first_of_one() -> None:
    assert place_of_process() == (0, 1)
    towers, objective = make_towers(), ContrastiveObjective()
    source = Planted(48)
    whole_step(towers, objective, Pairs(source.anchors, source.positives))
    assert bool(torch.isfinite(gradients(towers, objective)).all())
