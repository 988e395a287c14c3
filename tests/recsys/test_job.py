"""The job and the refresh: killed, restarted, verified, published and rolled back."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from likewise.core import (
    BundleFormatError,
    ChecksumMismatch,
    ColumnError,
    RecallGateFailed,
    SettingError,
)
from likewise.recsys import (
    CandidateGenerator,
    Deployment,
    JobSettings,
    Worker,
    add_items,
    measure_staleness,
    recall_on,
    run_job,
    verify_job,
)
from likewise.recsys.shards import shard_of

from tests.recsys.planted import QUICK, checkerboard, random_events

SETTINGS = JobSettings(k=5, shards=8, slice_rows=64)


@pytest.fixture(scope="module")
def generator() -> CandidateGenerator:
    return CandidateGenerator(tower=None).fit(random_events(0, users=120, events=900))


def digests(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*.parquet"))
    }


def test_every_user_is_there_once_and_the_manifest_counts_them(
    generator: CandidateGenerator, tmp_path: Path
) -> None:
    manifest = run_job(generator, tmp_path, settings=SETTINGS)
    statuses = pl.read_parquet(tmp_path / "statuses" / "*.parquet")
    assert sorted(statuses["user_id"]) == generator.interactions_.users.ids.to_list()
    candidates = pl.read_parquet(tmp_path / "candidates" / "*.parquet")
    assert manifest.candidates == candidates.height == statuses["candidates"].sum()
    assert manifest.users == statuses.height
    whole = generator.recommend(k=5)
    columns = ["user_id", "rank"]
    assert candidates.sort(columns).drop("score").equals(whole.sort(columns).drop("score"))


def test_events_in_a_file_are_answered_like_stored_ones(
    generator: CandidateGenerator, tmp_path: Path
) -> None:
    random_events(0, users=120, events=900).write_parquet(tmp_path / "events.parquet")
    run_job(generator, tmp_path / "stored", settings=SETTINGS)
    run_job(
        generator,
        tmp_path / "given",
        histories=tmp_path / "events.parquet",
        settings=SETTINGS,
    )
    assert digests(tmp_path / "stored") == digests(tmp_path / "given")


def test_a_shard_that_is_lost_is_made_again_with_the_same_bytes(
    generator: CandidateGenerator, tmp_path: Path
) -> None:
    run_job(generator, tmp_path, settings=SETTINGS)
    before = digests(tmp_path)
    (tmp_path / "done" / "shard-00003.json").unlink()
    (tmp_path / "candidates" / "shard-00003.parquet").unlink()
    run_job(generator, tmp_path, settings=SETTINGS)
    assert digests(tmp_path) == before


def test_a_folder_belongs_to_one_plan(generator: CandidateGenerator, tmp_path: Path) -> None:
    run_job(generator, tmp_path, settings=SETTINGS)
    with pytest.raises(SettingError, match="another job"):
        run_job(generator, tmp_path, settings=JobSettings(k=6, shards=8, slice_rows=64))


def test_a_changed_file_is_noticed(generator: CandidateGenerator, tmp_path: Path) -> None:
    run_job(generator, tmp_path, settings=SETTINGS)
    verify_job(tmp_path)
    victim = tmp_path / "candidates" / "shard-00000.parquet"
    victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    with pytest.raises(ChecksumMismatch, match="shard-00000"):
        verify_job(tmp_path)


def test_ids_spread_evenly_and_the_same_everywhere() -> None:
    numbers = pl.Series("user_id", range(8000))
    counts = np.bincount(shard_of(numbers, 8), minlength=8)
    assert counts.min() > 800
    assert shard_of(pl.Series("user_id", ["ada", "bob", "cy"]), 16).tolist() == [8, 0, 3]
    assert shard_of(numbers.cast(pl.Int32), 8).tolist() == shard_of(numbers, 8).tolist()


def test_two_users_whose_hashes_collide_stay_two_users(tmp_path: Path) -> None:
    # case Spark 1393: these two have the same CRC-32
    names = pl.Series("user_id", ["plumless", "buckeroo"])
    assert len(set(shard_of(names, 1 << 30).tolist())) == 1
    events = pl.DataFrame(
        {
            "user_id": ["plumless", "plumless", "buckeroo", "buckeroo", "z", "z", "z"],
            "item_id": ["a", "b", "c", "b", "a", "b", "c"],
        }
    )
    events.write_parquet(tmp_path / "events.parquet")
    model = CandidateGenerator(tower=None).fit(events)
    for name, histories in (("stored", None), ("given", tmp_path / "events.parquet")):
        run_job(model, tmp_path / name, histories=histories, settings=JobSettings(k=2, shards=3))
        listed = pl.read_parquet(tmp_path / name / "candidates" / "*.parquet")
        assert set(listed.select("user_id", "item_id").rows()) == {
            ("plumless", "c"),
            ("buckeroo", "a"),
        }


def test_a_worker_answers_batches_from_a_bundle(
    generator: CandidateGenerator, tmp_path: Path
) -> None:
    generator.save(tmp_path / "bundle")
    users = generator.interactions_.users.ids.head(3)
    batch = Worker(str(tmp_path / "bundle"), k=4)({"user_id": users.to_numpy()})
    expected = generator.recommend(users, k=4)
    assert batch["item_id"].tolist() == expected["item_id"].to_list()


@pytest.mark.slow
def test_killed_ten_times_at_random_nobody_is_missing_and_the_bytes_are_the_same(
    generator: CandidateGenerator, tmp_path: Path
) -> None:
    events = random_events(0, users=3000, events=20_000)
    bundle, file = tmp_path / "bundle", tmp_path / "events.parquet"
    CandidateGenerator(tower=None).fit(events).save(bundle)
    events.write_parquet(file)
    script = (
        "from likewise.recsys import CandidateGenerator, JobSettings, run_job\n"
        f"run_job(CandidateGenerator.load({str(bundle)!r}), {str(tmp_path / 'killed')!r}, "
        f"histories={str(file)!r}, settings=JobSettings(k=10, shards=60, slice_rows=2000))"
    )
    chooser, kills = random.Random(0), 0
    while True:
        process = subprocess.Popen([sys.executable, "-c", script])
        if kills < 10:
            time.sleep(1.0 + 2.0 * chooser.random())
            if process.poll() is None:
                process.kill()
                process.wait()
                kills += 1
                continue
        assert process.wait() == 0
        break
    whole = CandidateGenerator.load(bundle)
    run_job(
        whole,
        tmp_path / "whole",
        histories=file,
        settings=JobSettings(k=10, shards=60, slice_rows=2000),
    )
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")
    statuses = pl.read_parquet(tmp_path / "killed" / "statuses" / "*.parquet")
    assert sorted(statuses["user_id"]) == sorted(events["user_id"].unique())


def described(ids: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"item_id": ids, "title": ["even thing" if one % 2 == 0 else "odd thing" for one in ids]}
    )


def test_new_items_come_in_under_the_same_encoder(tmp_path: Path) -> None:
    # case T4Rec #363
    rows = [(user, item) for user in range(60) for item in range(40) if user % 2 == item % 2]
    events = pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row")
    model = CandidateGenerator(tower=QUICK, weights={"tower": 1.0}).fit(
        events, described(list(range(40)))
    )
    name, before = model.fingerprint, model.recommend([0, 1], k=3, hide_seen=False)
    add_items(model, described([100, 101]))
    assert model.fingerprint == name
    again = model.recommend([0, 1], k=3, hide_seen=False, exclude=[100, 101])
    assert again["item_id"].to_list() == before["item_id"].to_list()
    fresh = model.recommend([0, 1], k=1, include=[100, 101])
    assert fresh["item_id"].to_list() == [100, 101]
    assert measure_staleness(model).placed_by_content == 2
    model.save(tmp_path / "bundle")
    loaded = CandidateGenerator.load(tmp_path / "bundle")
    assert loaded.recommend([0, 1], k=4).equals(model.recommend([0, 1], k=4))


def test_without_content_new_items_have_no_place(generator: CandidateGenerator) -> None:
    with pytest.raises(ColumnError, match="item table"):
        add_items(generator, described([1]))


def test_a_worse_generator_is_not_published_and_a_bad_day_is_rolled_back(tmp_path: Path) -> None:
    train = checkerboard()
    users = sorted(set(train["user_id"]))
    wanted = pl.DataFrame(
        {
            "user_id": users,
            "item_id": [
                f"i{(int(user[1:]) // 2 * 2) % 24 + int(user[1:]) % 2:02d}" for user in users
            ],
        }
    )
    judge = recall_on(wanted, train=train, k=1)
    good = CandidateGenerator(tower=None).fit(train)
    bad = CandidateGenerator(tower=None).fit(
        train.with_columns(item_id=pl.col("item_id").shuffle(seed=0))
    )
    home = Deployment(tmp_path)
    with pytest.raises(BundleFormatError, match="publish one first"):
        home.current()
    first = home.publish(good, judge)
    with pytest.raises(RecallGateFailed, match="not published"):
        home.publish(bad, judge)
    assert home.pointer == first
    second = home.publish(good, judge)
    assert second.previous == first.current
    assert home.roll_back().current == first.current
    assert home.current().recommend(k=2).equals(good.recommend(k=2))
