"""Training time beside implicit's ALS of the same width, on Gowalla, with what each then finds.

CPU seconds of one thread, everything that fitting needs included. The recall is that of the test
part, read to say what the seconds bought; nothing is chosen here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import torch
from likewise.recsys import (
    CandidateGenerator,
    CooccurrenceSettings,
    ImplicitModel,
    Interactions,
    SpectralSettings,
    TowerSettings,
    evaluate,
)

from benchmarks.recsys_data import read_gowalla
from benchmarks.recsys_judging import SEED, set_weights

EPOCHS = (1, 3)
K = 20


def training() -> None:
    """Print one row a contender."""
    torch.set_num_threads(1)
    train, test = read_gowalla()
    known, als = Interactions.read(train), ImplicitModel("als", seed=SEED)
    base = time_fit(lambda: als.fit(known.matrix))
    found = evaluate(als.candidates(known, K), test, train=train, k=K).mean("recall")
    print(f"| | CPU seconds to fit | times ALS | recall@{K} |\n|---|---|---|---|")
    print(f"| implicit ALS, width {als.factors} | {base:.0f} | 1.0 | {found:.4f} |", flush=True)
    usual = TowerSettings()
    contenders = {"co-occurrence alone": build(None)}
    for epochs in EPOCHS:
        taught = replace(usual, epochs=epochs)
        contenders[f"tower taught by co-occurrence, {epochs} epochs"] = build(taught)
    contenders["tower taught by the closed forms"] = build(usual, SpectralSettings())
    for name, model in contenders.items():
        seconds = time_fit(lambda model=model: model.fit(train))
        set_weights(model, **{"cooccurrence" if model.settings.tower is None else "tower": 1.0})
        found = evaluate(model.recommend(k=K), test, train=train, k=K).mean("recall")
        print(f"| {name} | {seconds:.0f} | {seconds / base:.1f} | {found:.4f} |", flush=True)


def build(
    tower: TowerSettings | None, spectral: SpectralSettings | None = None
) -> CandidateGenerator:
    """A generator of co-occurrence and whatever else is given."""
    return CandidateGenerator(
        seed=SEED, tower=tower, cooccurrence=CooccurrenceSettings(), spectral=spectral, linear=None
    )


def time_fit(fit: Callable[[], object]) -> float:
    """CPU seconds of one fit."""
    started = time.process_time()
    fit()
    return time.process_time() - started
