"""Cold start: an item nobody took, a visitor nobody knows, and what each gets.

Run it with ``python examples/recsys_cold_start.py``; it makes its own data.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from likewise.recsys import (
    CandidateGenerator,
    TowerSettings,
    add_items,
    explain,
    measure_staleness,
)

AISLES = ("green tea", "dark chocolate", "trail shoes", "garden seeds")


def make_items(first: int, count: int) -> pl.DataFrame:
    """Items with a title and a price; the title says which aisle they are of."""
    return pl.DataFrame(
        {
            "item_id": [f"item-{number}" for number in range(first, first + count)],
            "title": [
                f"{AISLES[number % 4]} no {number}" for number in range(first, first + count)
            ],
            "price": [float(3 + number % 9) for number in range(first, first + count)],
        }
    )


def make_events(users: int = 400, items: int = 120, seed: int = 0) -> pl.DataFrame:
    """Each user keeps to one aisle."""
    generator = np.random.default_rng(seed)
    rows = [
        (user, f"item-{4 * int(generator.integers(items // 4)) + user % 4}")
        for user in range(users)
        for _ in range(8)
    ]
    return pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")


def main() -> None:
    """Fit on a shop, then meet new items and new visitors."""
    generator = CandidateGenerator(
        tower=TowerSettings(width=16, epochs=10, batch_size=64, learning_rate=0.01),
        weights={"tower": 1.0, "cooccurrence": 1.0},
        quotas={"content": 2},
    ).fit(make_events(), make_items(0, 120))

    print("New items come in between two trainings, placed by what their titles say:")
    arrivals = make_items(500, 4)
    add_items(generator, arrivals)
    placed = generator.recommend([0, 1, 2, 3], k=1, include=arrivals["item_id"])
    print(placed.join(arrivals, on="item_id").select("user_id", "item_id", "title", "source"))
    print(f"share of the catalogue on content alone: {measure_staleness(generator).share:.3f}")

    print("\nA visitor with a session is answered like anybody; one without anything is 'cold':")
    print(generator.recommend_sessions([["item-2", "item-6"]], k=3))
    answer = generator.answer([0, 9999], k=3, on_unknown="fallback")
    print(answer.frame)
    print(answer.statuses)

    print("\nWhy is it not there?", explain(generator, 0, item_of_user(generator)))


def item_of_user(generator: CandidateGenerator) -> object:
    """Some item that user 0 took."""
    history = next(iter(generator.histories_of(pl.Series("user_id", [0]))))
    return generator.interactions_.items.ids_of(history)[0]


if __name__ == "__main__":
    main()
