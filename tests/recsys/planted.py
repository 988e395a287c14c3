"""Planted data: a checkerboard whose right answers are known, and small settings that are quick."""

from __future__ import annotations

import numpy as np
import polars as pl
from likewise.recsys import CandidateGenerator, TowerSettings

USERS, ITEMS = 40, 24
QUICK = TowerSettings(width=8, epochs=12, batch_size=16, learning_rate=0.02)


def checkerboard(users: int = USERS, items: int = ITEMS) -> pl.DataFrame:
    """Even users took even items, odd users odd ones; each left one of its own out."""
    rows = [
        (f"u{user:02d}", f"i{item:02d}")
        for user in range(users)
        for item in range(items)
        if user % 2 == item % 2 and item != left_out(user, items)
    ]
    return pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")


def left_out(user: int, items: int = ITEMS) -> int:
    """The one item of its own colour that a user did not take."""
    return (user // 2 * 2) % items + user % 2


def random_events(seed: int, users: int = 50, items: int = 30, events: int = 400) -> pl.DataFrame:
    """Events without any pattern, popular items first."""
    generator = np.random.default_rng(seed)
    chosen = np.minimum(generator.geometric(0.12, events) - 1, items - 1)
    return pl.DataFrame(
        {
            "user_id": generator.integers(0, users, events) + 2**40,
            "item_id": [f"item {number}" for number in chosen],
        }
    )


def quick_generator(seed: int = 0) -> CandidateGenerator:
    """A generator with all sources that fits in a second."""
    return CandidateGenerator(seed=seed, tower=QUICK, weights={"tower": 1.0, "cooccurrence": 1.0})
