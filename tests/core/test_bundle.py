"""Bundles: whole or not at all, every byte checked, nothing in them is code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
import torch
from likewise.core import (
    BundleError,
    BundleFormatError,
    BundleKindError,
    ChecksumMismatch,
    InputError,
    fingerprint,
    load_bundle,
    save_bundle,
)
from likewise.core.bundle.manifest import FORMAT, migrate, read_manifest, seal, unseal


def save(path: Path, *, step: int = 1, kind: str = "model") -> None:
    save_bundle(
        path,
        kind=kind,
        config={"step": step, "names": ["a", "b"], "rate": 0.1, "none": None},
        tensors={"weights": torch.full((50, 4), float(step)), "ids": np.arange(5)},
        tables={"ids": pl.DataFrame({"id": ["x", "y"], "n": [1, 2]})},
        reports={"audit": {"share": 0.5, "worst": np.float64("nan"), "n": np.int64(3)}},
        fingerprint="encoder",
    )


def files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


def test_everything_comes_back(tmp_path: Path) -> None:
    save(tmp_path / "bundle", step=3)
    bundle = load_bundle(tmp_path / "bundle", kind="model")
    assert bundle.config == {"step": 3, "names": ["a", "b"], "rate": 0.1, "none": None}
    assert torch.equal(bundle.tensors["weights"], torch.full((50, 4), 3.0))
    assert bundle.tensors["ids"].dtype == torch.int64
    assert bundle.tables["ids"].equals(pl.DataFrame({"id": ["x", "y"], "n": [1, 2]}))
    assert bundle.reports["audit"] == {"share": 0.5, "worst": None, "n": 3}
    assert (bundle.kind, bundle.fingerprint) == ("model", "encoder")
    assert set(bundle.written_with) == {"likewise", "numpy", "polars", "torch"}


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    save(tmp_path / "one")
    save(tmp_path / "two")
    read = [
        {str(f.relative_to(p)): f.read_bytes() for f in files_of(p)} for p in tmp_path.iterdir()
    ]
    assert read[0] == read[1]


def test_nothing_in_a_bundle_is_code(tmp_path: Path) -> None:
    save(tmp_path / "bundle")
    kinds = {file.suffix for file in files_of(tmp_path)}
    assert kinds == {".json", ".parquet", ".safetensors"}


def test_replacing_leaves_one_bundle_and_nothing_beside_it(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path / "bundle", step=step)
    assert load_bundle(tmp_path / "bundle", kind="model").config["step"] == 3
    assert [one.name for one in tmp_path.iterdir()] == ["bundle"]
    assert len(list((tmp_path / "bundle").iterdir())) == 2


def test_a_loaded_tensor_can_be_written_to_without_touching_the_file(tmp_path: Path) -> None:
    save(tmp_path / "bundle")
    load_bundle(tmp_path / "bundle", kind="model").tensors["weights"].zero_()
    assert load_bundle(tmp_path / "bundle", kind="model").tensors["weights"].min() == 1.0


def test_a_loaded_bundle_outlives_its_replacement(tmp_path: Path) -> None:
    save(tmp_path / "bundle", step=1)
    old = load_bundle(tmp_path / "bundle", kind="model")
    save(tmp_path / "bundle", step=2)
    assert old.tensors["weights"].max() == 1.0


# case core#35: flip one byte in index or weights
def test_one_flipped_byte_anywhere_is_noticed(tmp_path: Path) -> None:
    save(tmp_path / "bundle")
    for file in files_of(tmp_path / "bundle"):
        whole = file.read_bytes()
        for place in {0, 7, len(whole) // 3, len(whole) // 2, len(whole) - 5}:
            broken = bytearray(whole)
            broken[place] ^= 1
            file.write_bytes(broken)
            with pytest.raises(ChecksumMismatch, match=file.name):
                load_bundle(tmp_path / "bundle", kind="model")
        file.write_bytes(whole)
    load_bundle(tmp_path / "bundle", kind="model")


def test_a_missing_or_truncated_file_is_named(tmp_path: Path) -> None:
    save(tmp_path / "bundle")
    for file in files_of(tmp_path / "bundle"):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1])
        with pytest.raises(BundleFormatError, match=file.name):
            load_bundle(tmp_path / "bundle", kind="model")
        file.unlink()
        with pytest.raises(BundleFormatError, match=file.name):
            load_bundle(tmp_path / "bundle", kind="model")
        file.write_bytes(whole)


def test_a_bundle_of_another_kind_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "bundle", kind="detector")
    with pytest.raises(BundleKindError, match="'detector', not a 'model'"):
        load_bundle(tmp_path / "bundle", kind="model")


def test_a_path_without_a_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleFormatError, match="no bundle"):
        load_bundle(tmp_path / "nothing", kind="model")


def test_a_folder_that_is_no_bundle_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(BundleFormatError, match="not a bundle"):
        save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def rewrite(path: Path, change: dict[str, Any]) -> None:
    file = path / "manifest.json"
    plain = json.loads(unseal(file.read_bytes(), file)) | change
    file.write_bytes(seal(msgspec.json.encode(plain)))


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "bundle")
    rewrite(tmp_path / "bundle", {"format": FORMAT + 1, "surprise": 1})
    with pytest.raises(BundleFormatError, match="newer version"):
        load_bundle(tmp_path / "bundle", kind="model")


def test_an_unknown_field_is_refused_by_its_path(tmp_path: Path) -> None:
    save(tmp_path / "bundle")
    rewrite(tmp_path / "bundle", {"surprise": 1})
    with pytest.raises(BundleFormatError, match="surprise"):
        load_bundle(tmp_path / "bundle", kind="model")
    save(tmp_path / "bundle")
    rewrite(tmp_path / "bundle", {"files": {"tensors.safetensors": {"sha256": "", "size": "x"}}})
    with pytest.raises(BundleFormatError, match=r"\$\.files\[\.\.\.\]\.size"):
        load_bundle(tmp_path / "bundle", kind="model")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "tables/../x", "x.pkl"])
def test_a_manifest_cannot_reach_outside_its_folder(tmp_path: Path, name: str) -> None:
    save(tmp_path / "bundle")
    entry = {"sha256": "", "size": 0}
    rewrite(tmp_path / "bundle", {"files": {name: entry, "tensors.safetensors": entry}})
    with pytest.raises(BundleFormatError, match="no file of a bundle"):
        load_bundle(tmp_path / "bundle", kind="model")


def test_an_older_format_is_carried_up_step_by_step(tmp_path: Path) -> None:
    steps = {1: lambda old: old | {"b": old["a"]}, 2: lambda old: {"b": old["b"] + 1}}
    assert migrate({"format": 1, "a": 1}, tmp_path, steps, target=3) == {"format": 3, "b": 2}
    assert migrate({"format": 3, "b": 9}, tmp_path, steps, target=3) == {"format": 3, "b": 9}
    with pytest.raises(BundleFormatError, match="from 3 to 4"):
        migrate({"format": 1, "a": 1}, tmp_path, steps, target=4)
    with pytest.raises(BundleFormatError, match="no format number"):
        migrate({}, tmp_path, steps)


def test_an_older_manifest_is_read_through_the_registry(tmp_path: Path) -> None:
    save(tmp_path / "bundle")
    rewrite(tmp_path / "bundle", {"format": 0})
    steps = {0: lambda old: old | {"kind": "migrated"}}
    assert read_manifest(tmp_path / "bundle", steps).kind == "migrated"
    with pytest.raises(BundleFormatError, match="from 0 to 1"):
        load_bundle(tmp_path / "bundle", kind="model")


def test_the_golden_bundle_of_format_1_still_loads() -> None:
    golden = Path(__file__).parent / "golden" / "format-1"
    bundle = load_bundle(golden, kind="model")
    assert bundle.config == {"step": 7, "names": ["a", "b"], "rate": 0.1, "none": None}
    assert bundle.tensors["weights"].unique().tolist() == [7.0]
    assert bundle.tables["ids"]["id"].to_list() == ["x", "y"]


@pytest.mark.parametrize(
    ("part", "value", "word"),
    [
        ("config", {"rate": {"deep": [1.0, float("nan")]}}, r"config\.rate\.deep\[1\] is nan"),
        ("config", {"model": object()}, "object"),
        ("tables", {"../x": pl.DataFrame()}, "file name"),
        ("reports", {"a/b": {}}, "file name"),
        ("tensors", {"text": np.array(["a"])}, "table"),
    ],
)
def test_what_cannot_come_back_as_it_was_is_refused_before_a_byte_is_written(
    tmp_path: Path, part: str, value: dict[str, Any], word: str
) -> None:
    parts: dict[str, Any] = {"config": {}, "tensors": {}, "tables": {}, "reports": {}}
    with pytest.raises(InputError, match=word):
        save_bundle(tmp_path / "b", kind="model", fingerprint="f", **(parts | {part: value}))
    assert list(tmp_path.iterdir()) == []


def test_tied_weights_and_views_are_saved(tmp_path: Path) -> None:
    tied = torch.arange(12.0).reshape(3, 4)
    tensors = {"a": tied, "b": tied, "c": tied.T, "d": tied[1:, ::2], "half": tied.bfloat16()}
    save_bundle(tmp_path / "b", kind="model", config={}, tensors=tensors, fingerprint="f")
    loaded = load_bundle(tmp_path / "b", kind="model").tensors
    assert all(torch.equal(loaded[name], tensor) for name, tensor in tensors.items())


# case core#34: disk full during save
@pytest.mark.parametrize("fails_at", ["fsync", "rename", "replace"])
def test_a_save_that_fails_leaves_the_old_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    save(tmp_path / "bundle", step=1)
    owner: Any = os if fails_at == "fsync" else Path

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(owner, fails_at, full)
    with pytest.raises(OSError, match="No space left"):
        save(tmp_path / "bundle", step=2)
    monkeypatch.undo()
    assert load_bundle(tmp_path / "bundle", kind="model").config["step"] == 1
    assert [one.name for one in tmp_path.iterdir()] == ["bundle"]
    save(tmp_path / "bundle", step=3)
    assert load_bundle(tmp_path / "bundle", kind="model").config["step"] == 3
    assert len(list((tmp_path / "bundle").iterdir())) == 2


WRITER = """
import sys, itertools, torch
from likewise.core import save_bundle
size = int(sys.argv[2])
for step in itertools.count(1):
    weights = torch.full((size,), float(step))
    save_bundle(sys.argv[1], kind="model", config={"step": step}, tensors={"w": weights},
                fingerprint="f")
    print(step, flush=True)
"""


def kill_a_writer(path: Path, delays: list[float]) -> None:
    """Kill a process that saves over and over; whatever it left must be one whole bundle."""
    for delay in delays:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), "200000"], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        with writer.stdout:
            writer.stdout.readline()  # it is running
            time.sleep(delay)
            writer.send_signal(signal.SIGKILL)
            said = [int(line) for line in writer.stdout.read().split()]
        writer.wait()
        bundle = load_bundle(path, kind="model")
        step = bundle.config["step"]
        assert bundle.tensors["w"].unique().tolist() == [float(step)]
        assert step >= max(said, default=1)


# case core#34: kill during save
def test_a_killed_writer_leaves_a_whole_bundle(tmp_path: Path) -> None:
    kill_a_writer(tmp_path / "bundle", [0.013])


@pytest.mark.slow
def test_a_writer_killed_at_many_points_always_leaves_a_whole_bundle(tmp_path: Path) -> None:
    kill_a_writer(tmp_path / "bundle", np.random.default_rng(0).uniform(0, 0.05, 40).tolist())
    save(tmp_path / "bundle", step=9)
    assert [one.name for one in tmp_path.iterdir()] == ["bundle"]
    assert len(list((tmp_path / "bundle").iterdir())) == 2


def make_encoder(seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))


def test_a_fingerprint_covers_weights_structure_and_preprocessing() -> None:
    module = make_encoder()
    name = fingerprint(module, preprocessing={"mean": np.ones(3), "lookback": 24})
    assert name == fingerprint(module, preprocessing={"lookback": 24, "mean": np.ones(3)})
    changed = [
        fingerprint(module, preprocessing={"mean": np.ones(3), "lookback": 25}),
        fingerprint(module, preprocessing={"mean": np.zeros(3), "lookback": 24}),
        fingerprint(module, preprocessing={"mean": np.ones(3), "lookback": "24"}),
        fingerprint(make_encoder(1), preprocessing={"mean": np.ones(3), "lookback": 24}),
    ]
    module[1] = torch.nn.GELU()  # type: ignore[operator]
    changed.append(fingerprint(module, preprocessing={"mean": np.ones(3), "lookback": 24}))
    assert len({name, *changed}) == 6


def test_a_fingerprint_changes_with_one_bit_of_one_weight_and_not_with_the_mode() -> None:
    module = make_encoder()
    name = fingerprint(module, preprocessing={})
    assert name == fingerprint(module.eval(), preprocessing={})
    with torch.no_grad():
        weight = next(module.parameters())
        weight[0, 0] = torch.nextafter(weight[0, 0], torch.tensor(9.0))
    assert name != fingerprint(module, preprocessing={})


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    script = (
        "import torch\n"
        "from likewise.core import fingerprint\n"
        "torch.manual_seed(0)\n"
        "module = torch.nn.Linear(4, 3).bfloat16()\n"
        "print(fingerprint(module, preprocessing={'a': [1, 2.5, None, True], 'b': {'c': 'd'}}))\n"
    )
    env = os.environ | {"PYTHONHASHSEED": "7"}
    other = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env
    )
    torch.manual_seed(0)
    module = torch.nn.Linear(4, 3).bfloat16()
    here = fingerprint(module, preprocessing={"a": [1, 2.5, None, True], "b": {"c": "d"}})
    assert other.stdout.strip() == here


def test_a_value_without_stable_bytes_has_no_fingerprint() -> None:
    with pytest.raises(InputError, match=r"preprocessing\.scaler is a object"):
        fingerprint(torch.nn.Identity(), preprocessing={"scaler": object()})


def test_every_failure_is_a_bundle_error() -> None:
    assert all(
        issubclass(one, BundleError)
        for one in (BundleFormatError, BundleKindError, ChecksumMismatch)
    )
