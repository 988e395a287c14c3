"""Speed and memory of the core beside the tools it is measured against.

One process, one thread, CPU time, the best of interleaved rounds (so that a slow minute of the
machine hits every contestant); memory is the growth of the peak resident size of a process of its
own. Every row says what was asked and what was got.

    python benchmarks/core.py                        # a few minutes; exact search up to 1e5 rows
    python benchmarks/core.py --rows 1000000         # also the largest exact search
    python benchmarks/core.py --out results/core.md  # and keep the table, beside this file

pytorch-metric-learning is not a dependency. To have its row, give it a folder of its own::

    pip install --no-deps --target DIR pytorch-metric-learning
    PYTHONPATH=DIR python benchmarks/core.py
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import torch  # noqa: E402
from likewise.core import (  # noqa: E402
    ContrastiveObjective,
    DualEncoder,
    ExactIndex,
    Pairs,
    StepResult,
    VectorEncoder,
    WindowEncoder,
    chunked_step,
    mine_negatives,
    normalize,
    whole_step,
)
from torch import Tensor  # noqa: E402
from torch.nn import functional as F  # noqa: E402

SEED = 0
TEMPERATURE = 0.07
SIZES = (1024, 2048, 4096, 8192)
WIDTHS = (64, 128)
LOOKBACK, HORIZON = 168, 24
ENCODED, CHUNK = 4096, 256


class Row(NamedTuple):
    """One comparison, and whether it reached what was asked."""

    what: str
    asked: str
    got: str
    reached: bool | None
    note: str = ""


def main() -> None:
    """Run every comparison, print the table, and keep it where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="largest exact index")
    parser.add_argument("--peak", nargs=2, metavar=("WHAT", "B"), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="file for the table, beside this one")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.peak:
        print_peak(arguments.peak[0], int(arguments.peak[1]))
        return
    lines = [*heading()]
    print("\n".join(lines))
    sections = (products(), gram(), shares(), metric_learning(), chunks())
    for section in (*sections, index_rows(arguments.rows)):
        for row in section:
            reached = {True: "yes", False: "**no**", None: "–"}[row.reached]
            line = f"| {row.what} | {row.asked} | {row.got} | {reached} | {row.note} |"
            print(line, flush=True)
            lines.append(line)
    if arguments.out:
        target = Path(__file__).parent / arguments.out
        target.parent.mkdir(exist_ok=True)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def heading() -> Iterator[str]:
    """What was run, with what, and when."""
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("likewise", "torch", "numpy", "faiss-cpu")
    )
    yield "# Core: speed and memory\n"
    yield f"Command: `python benchmarks/{' '.join([Path(sys.argv[0]).name, *sys.argv[1:]])}`  "
    yield f"Seed {SEED}; {dt.date.today()}; Python {platform.python_version()}, {versions}  "
    yield f"{processor()}; 1 thread, CPU time, best of interleaved rounds\n"
    yield "| what | asked | got | reached | note |"
    yield "|---|---|---|---|---|"


def products() -> Iterator[Row]:
    """The whole step against the six matrix products it cannot do without."""
    for width, bar in zip(WIDTHS, (2.5, 1.8), strict=True):
        for size in SIZES:
            anchors, positives = draw_views(size, width)
            objective = ContrastiveObjective(temperature=TEMPERATURE)
            plain, tiled = whole_products(size, width), tiled_products(size, width)
            ours, *reference = interleaved(
                partial(step, objective, anchors, positives), plain, tiled, rounds=rounds_for(size)
            )
            ratio = ours / min(reference)
            yield Row(
                f"loss, backward, geometry; d={width}, B={size:,}",
                f"<= {bar} x sgemm",
                f"{ratio:.2f} x",
                ratio <= bar,
                f"{1e3 * ours:.1f} ms; the products {1e3 * reference[0]:.1f} ms whole, "
                f"{1e3 * reference[1]:.1f} ms in tiles, the faster one counts",
            )


def gram() -> Iterator[Row]:
    """The whole step against a Gram matrix, cross-entropy, and geometry taken from that matrix."""
    for size in (4096, 8192):
        anchors, positives = draw_views(size, 64)
        objective = ContrastiveObjective(temperature=TEMPERATURE)
        ours, theirs = interleaved(
            partial(step, objective, anchors, positives),
            partial(gram_step, anchors, positives),
            rounds=5,
        )
        ratio = theirs / ours
        yield Row(
            f"the same against Gram + cross_entropy + its geometry, B={size:,}",
            ">= 4 x faster",
            f"{ratio:.2f} x",
            ratio >= 4,
            f"{1e3 * ours:.0f} ms against {1e3 * theirs:.0f} ms",
        )
    ours_mb, gram_mb = measure_peak("step", 8192), measure_peak("gram", 8192)
    yield Row(
        "extra memory of a step, B=8,192",
        "<= 64 MB",
        f"{ours_mb:.0f} MB",
        ours_mb <= 64,
        f"Gram: {gram_mb:,.0f} MB",
    )


def shares() -> Iterator[Row]:
    """What geometry and the search for hard negatives add to a step."""
    for size in (1024, 4096):
        anchors, positives = draw_views(size, 64)
        objective = ContrastiveObjective(temperature=TEMPERATURE)
        with_mining, full, bare = interleaved(
            partial(step_and_mine, objective, anchors, positives),
            partial(step, objective, anchors, positives),
            partial(step_without_geometry, objective, anchors, positives),
            rounds=rounds_for(size),
        )
        geometry, both = 1 - bare / full, 1 - bare / with_mining
        yield Row(
            f"geometry, share of the step, B={size:,}",
            "<= 25 %",
            f"{geometry:.0%}",
            geometry <= 0.25,
            f"{1e3 * (full - bare):.1f} of {1e3 * full:.1f} ms",
        )
        yield Row(
            f"geometry and mining, share of the step, B={size:,}",
            "<= 60 %",
            f"{both:.0%}",
            both <= 0.6,
            f"mining through an exact index of the batch, audit included: "
            f"{1e3 * (with_mining - full):.1f} ms",
        )


def metric_learning() -> Iterator[Row]:
    """pytorch-metric-learning's NTXentLoss, which forms every pair of pairs."""
    what = "against pytorch-metric-learning NTXentLoss, B=256, d=64"
    try:
        from pytorch_metric_learning.losses import NTXentLoss  # noqa: PLC0415
    except ImportError:
        yield Row(what, ">= 1000 x faster", "not installed", None, "see the head of this file")
        return
    anchors, positives = draw_views(256, 64)
    objective = ContrastiveObjective("ntxent", temperature=TEMPERATURE)
    labels = torch.arange(256).repeat(2)
    loss = NTXentLoss(temperature=TEMPERATURE)

    def theirs() -> Tensor:
        value: Tensor = loss(torch.cat([anchors, positives]), labels)
        value.backward()
        return value.detach()

    agree = abs(float(theirs()) - float(step(objective, anchors, positives).loss.detach()))
    ours_s, theirs_s = interleaved(
        partial(step, objective, anchors, positives), clear(theirs, anchors, positives), rounds=5
    )
    ratio = theirs_s / ours_s
    version = importlib.metadata.version("pytorch-metric-learning")
    yield Row(
        what,
        ">= 1000 x faster",
        f"{ratio:.0f} x",
        ratio >= 1000,
        f"{1e3 * ours_s:.1f} ms against {1e3 * theirs_s:.0f} ms (version {version}); "
        f"the losses differ by {agree:.1e}",
    )


def chunks() -> Iterator[Row]:
    """The encoder in chunks against the graph of the whole batch."""
    encoder, pairs = draw_windows(ENCODED)
    objective = ContrastiveObjective(temperature=TEMPERATURE)

    def in_chunks() -> StepResult:
        return chunked_step(encoder, objective, pairs, CHUNK)

    def whole() -> StepResult:
        return whole_step(encoder, objective, pairs)

    chunked_s, whole_s = interleaved(
        clear(in_chunks, *encoder.parameters()), clear(whole, *encoder.parameters()), rounds=5
    )
    what = f"encoder in chunks of {CHUNK} against full autograd, B={ENCODED:,}"
    ratio = chunked_s / whole_s
    note = f"{chunked_s:.2f} s against {whole_s:.2f} s: every window is encoded twice"
    yield Row(f"{what}: time", "<= 1.1 x", f"{ratio:.2f} x", ratio <= 1.1, note)
    chunked_mb, whole_mb = measure_peak("chunked", ENCODED), measure_peak("whole", ENCODED)
    ratio = chunked_mb / whole_mb
    note = f"{chunked_mb:.0f} MB against {whole_mb:.0f} MB"
    yield Row(f"{what}: memory", "<= 1/8", f"1/{1 / ratio:.1f}", ratio <= 1 / 8, note)
    error = gradient_error(encoder, clear(in_chunks, *encoder.parameters()), whole)
    yield Row(f"{what}: gradient error", "< 1e-5", f"{error:.1e}", error < 1e-5, "relative")


def index_rows(largest: int) -> Iterator[Row]:
    """Exact search, HNSW and bundle, from the benchmark of the index."""
    sys.path.insert(0, str(Path(__file__).parent))
    import index  # noqa: PLC0415 - a script beside this one, and faiss only now

    for section in (index.exact(largest), index.hnsw(), index.bundle()):
        for row in section:
            at_least, limit = row.bar.startswith(">="), float(row.bar.split()[-1])
            reached = row.ratio >= limit if at_least else row.ratio <= limit
            note = f"{row.ours:.3f} s against {row.theirs:.3f} s; {row.note}"
            yield Row(row.what, f"{row.bar} x", f"{row.ratio:.2f} x", reached, note)


def step(objective: ContrastiveObjective, anchors: Tensor, positives: Tensor) -> StepResult:
    """One step of ours: loss, backward, geometry."""
    anchors.grad = positives.grad = None
    result: StepResult = objective(anchors, positives)
    result.loss.backward()
    return result


def step_without_geometry(
    objective: ContrastiveObjective, anchors: Tensor, positives: Tensor
) -> None:
    """The same step with its measuring taken out."""
    module = sys.modules[ContrastiveObjective.__module__]
    tally = module.PassResult.__dataclass_fields__["tally"].default_factory
    measured = [(tally, "add"), (module, "finish_geometry"), (module, "measure_geometry")]
    kept = [getattr(owner, name) for owner, name in measured]
    for owner, name in measured:
        setattr(owner, name, lambda *_: None)
    try:
        step(objective, anchors, positives)
    finally:
        for (owner, name), original in zip(measured, kept, strict=True):
            setattr(owner, name, original)


def step_and_mine(objective: ContrastiveObjective, anchors: Tensor, positives: Tensor) -> None:
    """A step, and the hard negatives of its batch through an index of its positives."""
    step(objective, anchors, positives)
    index = ExactIndex(positives.detach(), fingerprint="benchmark")
    mine_negatives(index, anchors.detach(), index.ids, fingerprint="benchmark")


def gram_step(anchors: Tensor, positives: Tensor) -> tuple[Tensor, dict[str, float]]:
    """The usual form: a B x B matrix, cross-entropy both ways, geometry read off the matrix."""
    anchors.grad = positives.grad = None
    a, p = F.normalize(anchors, dim=1), F.normalize(positives, dim=1)
    cosines = a @ p.T
    target = torch.arange(len(a))
    logits = cosines / TEMPERATURE
    loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2
    loss.backward()
    with torch.no_grad():
        others = ~torch.eye(len(a), dtype=torch.bool)
        apart = cosines[others]
        geometry = {
            "alignment": float((2 - 2 * cosines.diagonal()).mean()),
            "uniformity": float((4 * apart - 4).exp().mean().log()),
            "mean_cosine": float(apart.mean()),
            "max_cosine": float(apart.max()),
            "effective_rank": min(rank_of(a), rank_of(p)),
        }
    return loss.detach(), geometry


def rank_of(x: Tensor) -> float:
    """Effective rank from the singular values."""
    singular = torch.linalg.svdvals(x - x.mean(dim=0))
    share = singular / singular.sum()
    return float(torch.special.entr(share).sum().exp())


def whole_products(size: int, width: int) -> Callable[[], None]:
    """The products of a step over the whole matrix: similarities and two gradients, both ways."""
    x, y = (view.detach() for view in draw_views(size, width))
    matrix = torch.empty(size, size)

    def run() -> None:
        for _ in range(2):
            torch.mm(x, y.T, out=matrix)
            torch.mm(matrix, y)
            torch.mm(matrix.T, x)

    return run


def tiled_products(size: int, width: int) -> Callable[[], None]:
    """The same products a tile at a time, which the cache likes better."""
    x, y = (view.detach() for view in draw_views(size, width))
    rows = max(8, min(size, (1 << 19) // size))
    tile, total = torch.empty(rows, size), torch.zeros(size, width)

    def run() -> None:
        for _ in range(2):
            for start in range(0, size, rows):
                part = x[start : start + rows]
                torch.mm(part, y.T, out=tile)
                torch.mm(tile, y)
                total.addmm_(tile.T, part)

    return run


def interleaved(*contestants: Callable[[], Any], rounds: int) -> list[float]:
    """Give each one's best CPU time of several rounds in which all take turns."""
    best = [float("inf")] * len(contestants)
    for turn in range(rounds + 1):  # the first round warms up and does not count
        for place, run in enumerate(contestants):
            start = time.process_time()
            run()
            if turn:
                best[place] = min(best[place], time.process_time() - start)
    return best


def rounds_for(size: int) -> int:
    """Short steps are disturbed more easily, so they get more rounds."""
    return max(5, 40_960 // size)


def draw_views(size: int, width: int) -> tuple[Tensor, Tensor]:
    """Anchors and, near them, their positives."""
    generator = torch.Generator().manual_seed(SEED)
    anchors = normalize(torch.randn(size, width, generator=generator))
    noise = 0.1 * torch.randn(size, width, generator=generator)
    return anchors.requires_grad_(), normalize(anchors.detach() + noise).requires_grad_()


def draw_windows(size: int) -> tuple[DualEncoder, Pairs]:
    """A window encoder beside a linear one, and windows with their continuations."""
    generator = torch.Generator().manual_seed(SEED)
    encoder = DualEncoder(WindowEncoder(LOOKBACK, 64), VectorEncoder(HORIZON, 64, seed=1))
    windows = torch.randn(size, LOOKBACK, 1, generator=generator)
    return encoder, Pairs(windows, torch.randn(size, HORIZON, generator=generator))


def clear(run: Callable[[], Any], *trained: Tensor) -> Callable[[], Any]:
    """The same call with the gradients of the last one forgotten."""

    def cleared() -> Any:
        for one in trained:
            one.grad = None
        return run()

    return cleared


def gradient_error(
    encoder: DualEncoder, ours: Callable[[], Any], theirs: Callable[[], Any]
) -> float:
    """Norm of the difference of two gradients over the norm of the second."""
    flat = []
    for run in (ours, theirs):
        clear(run, *encoder.parameters())()
        flat.append(
            torch.cat([p.grad.flatten() for p in encoder.parameters() if p.grad is not None])
        )
    return float((flat[0] - flat[1]).norm() / flat[1].norm())


def measure_peak(what: str, size: int) -> float:
    """Megabytes by which one step raises the peak of a fresh process above its inputs."""
    done = subprocess.run(
        [sys.executable, __file__, "--peak", what, str(size)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def print_peak(what: str, size: int) -> None:
    """Run one step in this process and print how far its memory rose, in megabytes."""

    def prepared(rows: int) -> Callable[[], Any]:
        if what in ("chunked", "whole"):
            encoder, pairs = draw_windows(rows)
            objective = ContrastiveObjective(temperature=TEMPERATURE)
            chunk = CHUNK if what == "chunked" else rows
            return lambda: chunked_step(encoder, objective, pairs, chunk)
        anchors, positives = draw_views(rows, 64)
        if what == "gram":
            return lambda: gram_step(anchors, positives)
        return lambda: step(ContrastiveObjective(temperature=TEMPERATURE), anchors, positives)

    prepared(64)()  # libraries load and threads start before anything is counted
    run = prepared(size)
    before = resident("VmRSS")
    run()
    print(resident("VmHWM") - before)


def resident(field: str) -> float:
    """Megabytes this process holds now (VmRSS) or held at most (VmHWM); Linux."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def processor() -> str:
    """The model of the processor, where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="ascii").splitlines():
            if line.startswith("model name"):
                return f"{line.split(':')[1].strip()}, {os.cpu_count()} cores"
    return platform.processor() or "unknown processor"


if __name__ == "__main__":
    main()
