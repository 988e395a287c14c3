"""The job: candidates for all users, from Parquet to Parquet, that survives being killed.

In: a fitted generator and, for users it does not store, a Parquet file of their events. Out: a
folder of shards with a manifest. A shard appears whole or not at all, and the same work makes the
same bytes, so a job that was killed is simply started again: finished shards are kept, no user is
missing and none is there twice. Memory is that of one shard, however many users there are.

::

    out/
      plan.json                    what is being done; another plan is refused
      candidates/shard-00000.parquet
      statuses/shard-00000.parquet
      done/shard-00000.json        counts and checksums; its presence says the shard is whole
      manifest.json                written last
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core import ChecksumMismatch, Progress, SettingError, silent
from .candidates import Candidates
from .events import to_polars
from .filters import Rule
from .generator import CandidateGenerator
from .shards import part_events, read_parts, shard_of, write_text_whole, write_whole


class JobSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a job is cut.

    Attributes:
        k: Candidates a user at most.
        shards: Files the users are spread over; memory is that of one.
        slice_rows: Rows of the events file held at a time.
        hide_seen: Whether what a user took is left out.
    """

    k: int = 100
    shards: int = 64
    slice_rows: int = 1_000_000
    hide_seen: bool = True


class Shard(msgspec.Struct, frozen=True):
    """One finished shard: how much it holds, and the SHA-256 of its two files."""

    users: int
    candidates: int
    statuses: dict[str, int]
    candidates_sha256: str
    statuses_sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What a finished job says about itself."""

    fingerprint: str
    settings: JobSettings
    histories: str
    users: int
    candidates: int
    statuses: dict[str, int]
    shards: list[Shard]

    @property
    def fill_rate(self) -> float:
        """Share of the places asked for that hold a candidate."""
        return self.candidates / max(self.users * self.settings.k, 1)


class Plan(msgspec.Struct, frozen=True):
    """What is being done; a folder takes shards of one plan only."""

    fingerprint: str
    settings: JobSettings
    histories: str


@dataclass(frozen=True, eq=False)
class Worker:
    """The unit of work: answers a batch of users, anywhere a bundle can be read.

    Built from a path, it loads the bundle where it runs, so it can be handed to Ray Data as
    ``dataset.map_batches(Worker, fn_constructor_args=[path])`` or to any other scheduler.

    Args:
        bundle: Path of a saved generator.
        k: Candidates a user at most.
    """

    bundle: str
    k: int = 100

    @cached_property
    def generator(self) -> CandidateGenerator:
        """The generator, loaded once where the worker runs."""
        return CandidateGenerator.load(self.bundle)

    def __call__(self, batch: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Answer ``{"user_id": ids}`` with columns of candidates; unknown users are left out."""
        users = pl.Series("user_id", batch["user_id"])
        frame = self.generator.recommend(users, self.k, on_unknown="skip")
        return {name: frame[name].to_numpy() for name in frame.columns}


def run_job(
    generator: CandidateGenerator,
    out: str | Path,
    *,
    histories: str | Path | None = None,
    settings: JobSettings | None = None,
    exclude: Rule = None,
    include: Rule = None,
    progress: Progress = silent,
) -> Manifest:
    """Write the candidates of all users.

    Args:
        generator: Fitted.
        out: Folder of the job; an unfinished one is taken up where it was left.
        histories: Parquet file of events whose users are to be answered by them, known to the
            generator or not; None for the users it was fitted on.
        settings: How the job is cut.
        exclude: Items not to be shown.
        include: The only items that may be shown.
        progress: Display of the shards.

    Returns:
        The manifest, as it stands in ``manifest.json``.

    Raises:
        SettingError: The folder belongs to another job.
    """
    cut = settings or JobSettings()
    if cut.k < 1 or cut.shards < 1 or cut.slice_rows < 1:
        raise SettingError("k, shards and slice_rows of a job are 1 or more")
    folder = Path(out)
    for name in ("candidates", "statuses", "done"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    plan = Plan(generator.fingerprint, cut, "fitted users" if histories is None else str(histories))
    _claim(folder, plan)
    parts = folder / "parts"
    if histories is not None and not (folder / "manifest.json").exists():
        part_events(Path(histories), parts, shards=cut.shards, slice_rows=cut.slice_rows)
    work = _Work(generator, folder, cut, histories is not None, exclude, include)
    finished = [work.finish(shard) for shard in progress(range(cut.shards), "writing candidates")]
    manifest = Manifest(
        fingerprint=plan.fingerprint,
        settings=cut,
        histories=plan.histories,
        users=sum(shard.users for shard in finished),
        candidates=sum(shard.candidates for shard in finished),
        statuses=_add(shard.statuses for shard in finished),
        shards=finished,
    )
    write_text_whole(_pretty(manifest), folder / "manifest.json")
    shutil.rmtree(parts, ignore_errors=True)
    return manifest


def read_manifest(out: str | Path) -> Manifest:
    """Read the manifest of a finished job."""
    return msgspec.json.decode((Path(out) / "manifest.json").read_bytes(), type=Manifest)


def verify_job(out: str | Path) -> Manifest:
    """Check every file of a finished job against its manifest.

    Raises:
        ChecksumMismatch: A file is not the one that was written; the message names it.
    """
    manifest = read_manifest(out)
    for number, shard in enumerate(manifest.shards):
        for kind in ("candidates", "statuses"):
            path = Path(out) / kind / f"shard-{number:05d}.parquet"
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest != getattr(shard, f"{kind}_sha256"):
                raise ChecksumMismatch(f"{path} is not the file the job wrote; run the job again")
    return manifest


def _claim(folder: Path, plan: Plan) -> None:
    path = folder / "plan.json"
    if not path.exists():
        write_text_whole(_pretty(plan), path)
        return
    found = msgspec.json.decode(path.read_bytes(), type=Plan)
    if found != plan:
        raise SettingError(
            f"{folder} belongs to another job (bundle {found.fingerprint[:12]}…, "
            f"{found.settings}); give this one a folder of its own, or remove that one"
        )


@dataclass(frozen=True, eq=False)
class _Work:
    """All that the shards of one job share."""

    generator: CandidateGenerator
    folder: Path
    settings: JobSettings
    from_parts: bool
    exclude: Rule
    include: Rule

    @cached_property
    def homes(self) -> NDArray[np.int64]:
        """The shard of each fitted user, hashed once for the whole job."""
        return shard_of(self.generator.interactions_.users.ids, self.settings.shards)

    def finish(self, shard: int) -> Shard:
        """Give the record of a shard, answering it first if that was not done."""
        name = f"shard-{shard:05d}"
        record = self.folder / "done" / f"{name}.json"
        if record.exists():
            return msgspec.json.decode(record.read_bytes(), type=Shard)
        answer = self._answer(shard)
        frame = to_polars(answer.frame)
        counted = answer.statuses["status"].value_counts().sort("status")
        finished = Shard(
            users=len(answer.statuses),
            candidates=len(frame),
            statuses=dict(
                zip(counted["status"].to_list(), counted["count"].to_list(), strict=True)
            ),
            candidates_sha256=write_whole(frame, self.folder / "candidates" / f"{name}.parquet"),
            statuses_sha256=write_whole(
                answer.statuses, self.folder / "statuses" / f"{name}.parquet"
            ),
        )
        write_text_whole(_pretty(finished), record)
        return finished

    def _answer(self, shard: int) -> Candidates:
        known, settings = self.generator.interactions_.users.ids, self.settings
        events = read_parts(self.folder / "parts", shard) if self.from_parts else None
        if events is not None:
            return self.generator.answer_events(
                events,
                settings.k,
                exclude=self.exclude,
                include=self.include,
                hide_seen=settings.hide_seen,
            )
        users = known.head(0) if self.from_parts else known.filter(pl.Series(self.homes == shard))
        return self.generator.answer(
            users,
            settings.k,
            exclude=self.exclude,
            include=self.include,
            hide_seen=settings.hide_seen,
        )


def _add(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counts:
        for name, count in one.items():
            total[name] = total.get(name, 0) + count
    return dict(sorted(total.items()))


def _pretty(struct: msgspec.Struct) -> str:
    return msgspec.json.format(msgspec.json.encode(struct), indent=2).decode() + "\n"
