"""The demo's chapter on recommendation: what households put into their baskets for the first time.

In: nothing but the data package. Out: a chapter with one table (the generator beside implicit and
the bestseller list, by part of the catalogue), and three households with their history, their
candidates and the products that brought them.
"""

from __future__ import annotations

import polars as pl

from ..core import Block, Chapter, Heading, KeyValues, Note, Progress, Table, Text
from .baselines import Baseline, Bestsellers, ImplicitModel
from .cooccurrence import CooccurrenceSettings
from .evaluation import Evaluation, compare, evaluate
from .evidence import brought_by
from .generator import CandidateGenerator
from .households import CUTOFF, load_households
from .interactions import Interactions
from .report import evaluation_table
from .splits import Split
from .tower_settings import TowerSettings

K = 100
SHOWN = 3
LISTED = 6
TOWER = TowerSettings(width=64, epochs=6, batch_size=128, learning_rate=0.005, sampled=2048)
# Chosen on the last share of the known weeks (`choose_settings`), not on the weeks judged here.
LINKS = CooccurrenceSettings(user_exponent=1.0, history_exponent=0.3, candidate_exponent=0.5)
WEIGHTS = {"cooccurrence": 1.0, "tower": 0.6}


def tell(progress: Progress) -> Chapter:
    """Propose products new to each household, and judge them by the six weeks that followed."""
    split, products = load_households()
    generator = CandidateGenerator(tower=TOWER, cooccurrence=LINKS, linear=None, weights=WEIGHTS)
    generator.fit(split.train, progress=progress)
    judged = {"likewise": _judge(generator.recommend(k=K), split)}
    known = Interactions.read(split.train)
    others: list[Baseline] = [
        ImplicitModel("als", factors=64),
        ImplicitModel("tfidf"),
        Bestsellers(),
    ]
    for other in progress(others, "fitting baselines"):
        judged[other.name] = _judge(other.candidates(known, K), split)
    table = evaluation_table(judged, k=K)
    return Chapter(
        title="What such households bought next",
        blocks=(
            _introduce(generator, split),
            table,
            _differences(judged),
            Heading("Three households, and what brought their candidates", level=2),
            *_show_households(generator, split, products),
        ),
        printed=table.as_text(),
    )


def _judge(candidates: pl.DataFrame, split: Split) -> Evaluation:
    return evaluate(candidates, split.test, train=split.train, k=K)


def _introduce(generator: CandidateGenerator, split: Split) -> Text:
    known = generator.interactions_
    return Text(
        f"{len(known.users)} households of one retailer and {len(known.items)} products, known up "
        f"to {CUTOFF:%d %B %Y}. For each household, {K} products it had not bought before are "
        f"proposed, and judged by the {len(split.test)} first purchases of the weeks that "
        "followed. Head, torso and tail each carry a third of the purchases known: a list that "
        "only knows the bestsellers shows it in the tail."
    )


def _differences(judged: dict[str, Evaluation]) -> Note:
    ours = judged["likewise"]
    told = []
    for name, theirs in judged.items():
        if name != "likewise":
            gap = compare(ours, theirs)
            told.append(f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}] against {name}")
    return Note(
        f"Recall, household by household, with 95 % bootstrap intervals: {'; '.join(told)}.",
        title="Paired differences",
    )


def _show_households(
    generator: CandidateGenerator, split: Split, products: pl.DataFrame
) -> list[Block]:
    titles = dict(products.select("item_id", "title").iter_rows())
    # A middling history, something to be found, and the smallest ids among those: no picking.
    sizes = split.train.group_by("user_id").agg(size=pl.col("item_id").n_unique())
    found = split.test.select("user_id").unique()
    middling = sizes.filter(pl.col("size").is_between(40, 80)).join(found, on="user_id")
    blocks: list[Block] = []
    for household in middling.sort("user_id")["user_id"].head(SHOWN).to_list():
        blocks += _show_household(generator, split, titles, household)
    return blocks


def _show_household(
    generator: CandidateGenerator, split: Split, titles: dict[int, str], household: int
) -> list[Block]:
    mine = split.train.filter(pl.col("user_id") == household)
    later = set(split.test.filter(pl.col("user_id") == household)["item_id"])
    lists = generator.recommend([household], K)
    latest = mine.unique("item_id", keep="last", maintain_order=True).tail(LISTED)["item_id"]
    rows = []
    for item, rank, source in lists.select("item_id", "rank", "source").head(LISTED).iter_rows():
        because = brought_by(generator, household, item, 3)["item_id"]
        brought = ", ".join(titles.get(one, str(one)) for one in because)
        rows.append([rank, titles.get(item, str(item)), brought, source, item in later])
    hits = len(later & set(lists["item_id"]))
    facts = KeyValues(
        [
            ("products known", mine["item_id"].n_unique()),
            ("latest of them", ", ".join(titles.get(one, str(one)) for one in latest)),
            (f"first purchases found in {K}", f"{hits} of {len(later)}"),
        ]
    )
    columns = ["rank", "candidate", "brought by", "source", "bought later"]
    return [Heading(f"Household {household}", level=3), facts, Table(columns, rows)]
