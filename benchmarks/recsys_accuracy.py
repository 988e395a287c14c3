"""Accuracy of recommendation beside implicit and EASE: Gowalla, online_retail, Beauty and Toys.

Settings were chosen on parts cut out of the training data (``choose_settings``); the test part is
looked at once, here.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from likewise.recsys import (
    CandidateGenerator,
    CooccurrenceSettings,
    SpectralSettings,
    TowerSettings,
    choose_settings,
    leave_one_out,
    split_by_time,
)

from benchmarks.recsys_data import read_goods, read_gowalla, read_retail
from benchmarks.recsys_judging import (
    MEASURES,
    SEED,
    Judged,
    judge_baselines,
    judge_fitted,
    judge_generator,
    judge_source,
    set_weights,
    tell,
)

NEAR = (10, 20)
FAR = (20, 100)


def gowalla(epochs: int) -> None:
    """LightGCN's split, full ranking, by the settings that a random part held back favours."""
    judge_gowalla(epochs, CooccurrenceSettings(), spectral=0.4)


def gowalla_tail(epochs: int) -> None:
    """The same with a candidate exponent that brings the tail forward."""
    links = CooccurrenceSettings(user_exponent=0.7, history_exponent=0.6, candidate_exponent=0.5)
    judge_gowalla(epochs, links, spectral=0.55)


def gowalla_baselines(epochs: int) -> None:
    """The baselines on the same split."""
    del epochs
    train, test = read_gowalla()
    tell(judge_baselines(train, test, FAR), FAR)


def judge_gowalla(epochs: int, links: CooccurrenceSettings, *, spectral: float) -> None:
    """Judge the union, its closed forms and each source alone."""
    train, test = read_gowalla()
    model = CandidateGenerator(
        seed=SEED,
        tower=replace(TowerSettings(), epochs=epochs),
        cooccurrence=links,
        spectral=SpectralSettings(),
        linear=None,
        weights={"cooccurrence": 1.0, "spectral": spectral, "tower": 0.3},
    )
    judged = judge_generator("likewise union", model, train, test, FAR)
    whole = dict(model.settings.weights)
    set_weights(model, **{name: weight for name, weight in whole.items() if name != "tower"})
    judged |= judge_fitted("likewise closed forms", model, train, test, FAR)
    set_weights(model, **whole)
    for source in whole:
        judged |= judge_source(f"likewise {source}", model, source, train, test, FAR)
    tell(judged, FAR)
    for k in FAR:
        bounds = judged["likewise union"][0][k].interval("recall")
        print(f"\nunion, recall@{k}: {bounds.mean:.4f} [{bounds.low:.4f}, {bounds.high:.4f}]")


def beauty(epochs: int) -> None:
    """s3rec Beauty, the last item of each user to be found among all items."""
    judge_goods("Beauty", epochs)


def toys(epochs: int) -> None:
    """s3rec Toys, likewise."""
    judge_goods("Toys_and_Games", epochs)


def judge_goods(name: str, epochs: int) -> None:
    """Judge the union, a softmax SASRec-like tower, and it with co-occurrence beside."""
    split = leave_one_out(read_goods(name)[0])
    order = TowerSettings(
        kind="sequence", width=64, epochs=2 * epochs, batch_size=256, learning_rate=2e-3
    )
    bag = replace(TowerSettings(), epochs=epochs, width=64)
    judged = judge_baselines(split.train, split.test, NEAR)
    choice = choose_settings(split.train, tower=bag, k=10)
    print(f"\nchosen on training data: {choice.as_text().splitlines()[-1]}\n")
    union = CandidateGenerator(seed=SEED, tower=bag, **choice.apply())
    judged |= judge_generator("likewise union", union, split.train, split.test, NEAR)
    ordered = CandidateGenerator(
        seed=SEED, tower=order, cooccurrence=choice.cooccurrence, weights={"tower": 1.0}
    )
    judged |= judge_generator("likewise sequence", ordered, split.train, split.test, NEAR)
    set_weights(ordered, tower=1.0, cooccurrence=0.5)
    judged |= judge_fitted("sequence + co-occurrence", ordered, split.train, split.test, NEAR)
    tell(judged, NEAR)


def retail(epochs: int) -> None:
    """online_retail by time: items new to each customer from October 2011 on."""
    events, items = read_retail()
    split = split_by_time(events, dt.datetime(2011, 10, 1))
    known = split.train.select("user_id").unique()
    test = split.test.join(known, on="user_id", how="semi")
    tower = replace(TowerSettings(), epochs=epochs, width=64)
    choice = choose_settings(split.train, tower=tower, k=20)
    print(f"chosen on training data: {choice.as_text().splitlines()[-1]}\n")
    judged = judge_baselines(split.train, test, FAR)
    model = CandidateGenerator(seed=SEED, tower=tower, **choice.apply())
    judged |= judge_generator("likewise union", model, split.train, test, FAR, items)
    judged |= judge_source("likewise tower", model, "tower", split.train, test, FAR)
    judged |= judge_source("likewise co-occurrence", model, "cooccurrence", split.train, test, FAR)
    tell(judged, FAR, (*MEASURES, "recall_cold"))


def logq(epochs: int) -> None:
    """The sampling correction on and off, mixtures and the popularity exponent, on Gowalla."""
    train, test = read_gowalla()
    plain = replace(TowerSettings(), epochs=epochs, width=64, teacher_share=0.0)
    variants = {
        "log q subtracted": plain,
        "log q left out": replace(plain, correct=0.0),
        "drawn by popularity, subtracted": replace(plain, sampled_exponent=1.0, uniform=0.0),
        "drawn uniformly, subtracted": replace(plain, uniform=1.0),
        "popularity exponent 0.25": replace(plain, popularity_exponent=0.25),
        "popularity exponent 0.5": replace(plain, popularity_exponent=0.5),
    }
    judged: Judged = {}
    for name, settings in variants.items():
        model = CandidateGenerator(seed=SEED, tower=settings, cooccurrence=None)
        judged |= judge_generator(name, model, train, test, (100,))
    tell(judged, (100,))
