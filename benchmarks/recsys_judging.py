"""Judging recommenders beside each other: one evaluator, one table a k, seconds beside.

In: a training and a test table, and generators, fitted or not. Out: :data:`Judged`, which
:func:`tell` prints as markdown. All items compete, and seen items are left out.
"""

from __future__ import annotations

import time
from dataclasses import replace

import polars as pl
from likewise.recsys import CandidateGenerator, Evaluation, Interactions, evaluate, usual_baselines

SEED = 0
MEASURES = (
    "recall",
    "ndcg",
    "recall_head",
    "recall_torso",
    "recall_tail",
    "coverage",
    "gini",
    "bestseller_overlap",
)

Judged = dict[str, tuple[dict[int, Evaluation], float]]
"""By name: an evaluation for each k, and the wall seconds that fitting and listing took."""


def judge_baselines(train: pl.DataFrame, test: pl.DataFrame, ks: tuple[int, ...]) -> Judged:
    """Judge every baseline at every k."""
    known, judged = Interactions.read(train), {}
    for model in usual_baselines(len(known.items), seed=SEED):
        started = time.perf_counter()
        frame = model.candidates(known, max(ks))
        seconds = time.perf_counter() - started
        judged[model.name] = (judge(frame, train, test, ks), seconds)
        print(f"<!-- {model.name} {seconds:.0f} s -->", flush=True)
    return judged


def judge_generator(
    name: str,
    model: CandidateGenerator,
    train: pl.DataFrame,
    test: pl.DataFrame,
    ks: tuple[int, ...],
    items: pl.DataFrame | None = None,
) -> Judged:
    """Fit a generator and judge it."""
    started = time.perf_counter()
    model.fit(train, items)
    fitted = time.perf_counter() - started
    print(f"<!-- {name} fitted in {fitted:.0f} s -->", flush=True)
    judged = judge_fitted(name, model, train, test, ks)
    return {key: (value, seconds + fitted) for key, (value, seconds) in judged.items()}


def judge_fitted(
    name: str,
    model: CandidateGenerator,
    train: pl.DataFrame,
    test: pl.DataFrame,
    ks: tuple[int, ...],
) -> Judged:
    """Judge a fitted generator."""
    started = time.perf_counter()
    frame = model.recommend(k=max(ks))
    seconds = time.perf_counter() - started
    return {name: (judge(frame, train, test, ks), seconds)}


def judge_source(
    name: str,
    model: CandidateGenerator,
    source: str,
    train: pl.DataFrame,
    test: pl.DataFrame,
    ks: tuple[int, ...],
) -> Judged:
    """Judge one source of a fitted generator alone."""
    kept = dict(model.settings.weights)
    set_weights(model, **{source: 1.0})
    judged = judge_fitted(name, model, train, test, ks)
    set_weights(model, **kept)
    return judged


def set_weights(model: CandidateGenerator, **weights: float) -> None:
    """Blend a fitted generator's sources otherwise."""
    model.settings = replace(model.settings, weights=weights)


def judge(
    frame: pl.DataFrame, train: pl.DataFrame, test: pl.DataFrame, ks: tuple[int, ...]
) -> dict[int, Evaluation]:
    """Evaluate one table of candidates at every k."""
    return {k: evaluate(frame, test, train=train, k=k) for k in ks}


def tell(judged: Judged, ks: tuple[int, ...], measures: tuple[str, ...] = MEASURES) -> None:
    """Print one markdown table a k."""
    for k in ks:
        print(f"\n| at {k} | {' | '.join(measures)} | seconds |")
        print("|---" * (len(measures) + 2) + "|")
        for name, (by_k, seconds) in judged.items():
            values = " | ".join(f"{by_k[k].summary[measure]:.4f}" for measure in measures)
            print(f"| {name} | {values} | {seconds:.0f} |", flush=True)
