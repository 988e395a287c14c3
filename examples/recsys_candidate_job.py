"""A candidate job from events to a verified folder of Parquet, as a team would run it each night.

Run it with ``python examples/recsys_candidate_job.py [events.parquet]``. Without a file it makes a
shop of its own. Killed and started again, it goes on where it was.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from likewise.core import track
from likewise.recsys import (
    CandidateGenerator,
    Deployment,
    JobSettings,
    TowerSettings,
    evaluate,
    hold_out_share,
    recall_on,
    run_job,
    verify_job,
)


def make_shop(users: int = 2000, items: int = 600, seed: int = 0) -> pl.DataFrame:
    """Events of users who each like two of twelve aisles, and bestsellers now and then."""
    generator = np.random.default_rng(seed)
    likes = generator.integers(0, 12, size=(users, 2))
    rows = []
    for user in range(users):
        for _ in range(12):
            aisle = likes[user, generator.integers(2)]
            place = int(generator.exponential(12)) % (items // 12)
            rows.append((f"user-{user}", f"item-{aisle * (items // 12) + place}"))
    return pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")


def main() -> None:
    """Fit, publish behind a gate, write candidates of all users, verify and judge them."""
    events = pl.read_parquet(sys.argv[1]) if len(sys.argv) > 1 else make_shop()
    split = hold_out_share(events, 0.2)
    home = Path(tempfile.mkdtemp(prefix="likewise-"))

    generator = CandidateGenerator(tower=TowerSettings(width=32, batch_size=128))
    generator.fit(split.train, progress=track)
    deployment = Deployment(home / "deployment")
    deployment.publish(generator, recall_on(split.test, train=split.train, k=50))

    manifest = run_job(
        deployment.current(),
        home / "candidates",
        settings=JobSettings(k=50, shards=16),
        progress=track,
    )
    verify_job(home / "candidates")
    print(f"{manifest.candidates} candidates for {manifest.users} users, {manifest.statuses}")

    judged = evaluate(home / "candidates" / "candidates", split.test, train=split.train, k=50)
    for name, value in judged.summary.items():
        print(f"{name:20} {value:.3f}")
    print(f"everything is in {home}")


if __name__ == "__main__":
    main()
