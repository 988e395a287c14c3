"""`likewise inspect` says what a folder holds; `likewise check` fails when a guard does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from likewise.core import (
    BundleFormatError,
    ChecksumMismatch,
    ExactIndex,
    HNSWIndex,
    RecallGate,
    check_bundle,
    freeze_probes,
    inspect_bundle,
    mine_negatives,
    save_bundle,
)
from likewise.core.cli import main

WIDTH = 8


def draw(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, WIDTH)).astype(np.float32)


def save_model(path: Path, index: ExactIndex | HNSWIndex, probed: ExactIndex | HNSWIndex) -> Path:
    """Save an index with probes that were frozen on another (or the same) one."""
    probes = freeze_probes(probed, draw(100, seed=1), fingerprint=probed.fingerprint).pack()
    packed = index.pack()
    save_bundle(
        path,
        kind="model",
        config=packed.config | probes.config | {"depth": 3},
        tensors=packed.tensors | probes.tensors,
        tables={**packed.tables, "seen": pl.DataFrame({"label": ["a", "b"], "n": [1, 2]})},
        reports={"audit": {"anchors": 3, "mined": 9}},
        fingerprint=index.fingerprint,
    )
    return path


@pytest.fixture
def index() -> ExactIndex:
    return ExactIndex(draw(500), fingerprint="encoder")


@pytest.fixture
def model(tmp_path: Path, index: ExactIndex) -> Path:
    return save_model(tmp_path / "model", index, index)


def call(*arguments: str, exits: int) -> Result:
    result = CliRunner().invoke(main, arguments, prog_name="likewise")
    assert result.exit_code == exits, result.output
    return result


def test_an_inspection_names_every_part_with_its_shape(model: Path) -> None:
    found = inspect_bundle(model)
    assert (found.manifest.kind, found.manifest.format) == ("model", 1)
    assert found.size == sum(f.stat().st_size for f in (model / "files-1").rglob("*.*"))
    content = {(part.sort, part.name): part.content for part in found.parts}
    assert content["tensor", "index.vectors"] == "500 x 8 F32"
    assert content["tensor", "probes.norms"] == "100 F64"
    assert content["table", "seen"] == "2 rows of label, n"
    assert content["table", "index.ids"] == "500 rows of id"
    assert content["report", "audit"] == "anchors, mined"
    assert {p.name: p.size for p in found.parts}["index.vectors"] == 500 * 8 * 4


def test_the_command_prints_what_the_inspection_found(model: Path) -> None:
    shown = call("inspect", str(model), exits=0).stdout
    for word in ("model", "encoder", "torch", "index.vectors", "500 x 8 F32", "audit", "depth"):
        assert word in shown


def test_a_bundle_whose_guards_hold_exits_with_nought(model: Path) -> None:
    verdict = check_bundle(model)
    assert verdict.ok
    assert verdict.checks[0].name == "damaged files"
    assert [c.name for c in verdict.checks if "drift" in c.name] == [
        "query norm drift",
        "neighbour distance drift",
    ]
    assert "FAILS" not in call("check", str(model), exits=0).stdout


def test_a_changed_index_fails_its_guard_and_exits_with_three(
    tmp_path: Path, index: ExactIndex
) -> None:
    emptied = ExactIndex(draw(500)[:20], fingerprint="encoder")
    path = save_model(tmp_path / "emptied", emptied, index)
    verdict = check_bundle(path)
    assert [check.name for check in verdict.checks if not check.ok] == ["neighbour distance drift"]
    assert "neighbour distance drifted" in call("check", str(path), exits=3).stdout


def test_probes_of_another_encoder_fail_the_stale_guard(tmp_path: Path, index: ExactIndex) -> None:
    other = ExactIndex(draw(500), fingerprint="next encoder")
    path = save_model(tmp_path / "stale", other, index)
    assert [check.name for check in check_bundle(path).checks if not check.ok] == ["stale rows"]
    call("check", str(path), exits=3)


def test_recent_queries_that_collapsed_fail_the_guard(model: Path, tmp_path: Path) -> None:
    recent = tmp_path / "recent.npy"
    np.save(recent, draw(50, seed=2))
    call("check", str(model), "--queries", str(recent), exits=0)
    np.save(recent, 0.1 * draw(50, seed=2) + 5.0)
    assert "above the limit" in call("check", str(model), "--queries", str(recent), exits=3).stdout


def test_queries_that_are_no_numbers_are_refused(model: Path, tmp_path: Path) -> None:
    recent = tmp_path / "recent.npy"
    for wrong in (np.array(["a"]), np.zeros(3), np.array([None], dtype=object)):
        np.save(recent, wrong)
        call("check", str(model), "--queries", str(recent), exits=2)
    recent.write_text("not an array")
    assert "numpy.save" in call("check", str(model), "--queries", str(recent), exits=2).stderr


def test_a_flipped_byte_is_told_and_exits_with_two(model: Path) -> None:  # case core#35
    file = model / "files-1" / "tensors.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ChecksumMismatch):
        check_bundle(model)
    assert "SHA-256" in call("check", str(model), exits=2).stderr
    call("inspect", str(model), exits=0)


def test_a_lost_file_is_named_by_both(model: Path) -> None:
    (model / "files-1" / "reports" / "audit.json").unlink()
    with pytest.raises(BundleFormatError, match=r"lacks reports/audit\.json"):
        inspect_bundle(model)
    assert "audit.json" in call("inspect", str(model), exits=2).stderr
    assert "audit.json" in call("check", str(model), exits=2).stderr


def test_a_graph_is_checked_like_an_exact_index(tmp_path: Path) -> None:
    graph = HNSWIndex(draw(400), fingerprint="f", probes=draw(200, seed=3), gate=RecallGate(k=5))
    verdict = check_bundle(save_model(tmp_path / "graph", graph, graph))
    assert verdict.ok
    assert verdict.probes == 100


def test_a_bundle_without_probes_says_that_only_files_were_checked(
    tmp_path: Path, index: ExactIndex
) -> None:
    index.save(tmp_path / "index")
    assert check_bundle(tmp_path / "index").probes == 0
    assert "no probe set" in call("check", str(tmp_path / "index"), exits=0).stdout


def test_probes_without_an_index_are_a_fault_of_the_bundle(
    tmp_path: Path, index: ExactIndex
) -> None:
    probes = freeze_probes(index, draw(50, seed=1), fingerprint="encoder").pack()
    save_bundle(
        tmp_path / "b", kind="k", config=probes.config, tensors=probes.tensors, fingerprint="f"
    )
    with pytest.raises(BundleFormatError, match="no index of that width"):
        check_bundle(tmp_path / "b")


def test_a_folder_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    assert "no bundle" in call("inspect", str(tmp_path), exits=2).stderr
    assert "no bundle" in call("check", str(tmp_path), exits=2).stderr


def test_a_page_of_a_bundle_shows_the_mined_pairs_nearest_first(tmp_path: Path) -> None:
    index = ExactIndex(draw(60), [f"row<{i}>" for i in range(60)], fingerprint="encoder")
    mined, audit = mine_negatives(index, draw(5, seed=2), index.ids[:5], fingerprint="encoder")
    save_bundle(
        tmp_path / "mined",
        kind="mined",
        config={},
        tensors={"rows": mined.negatives.rows},
        reports={"mining": audit.to_dict()},
        fingerprint="encoder",
    )
    page = tmp_path / "page.html"
    call("inspect", str(tmp_path / "mined"), "--report", str(page), exits=0)
    html = page.read_text()
    assert "What was mined" in html
    assert "row&lt;" in html
    nearest = max(pair.negative_similarity for pair in audit.pairs)
    farthest = min(pair.negative_similarity for pair in audit.pairs)
    assert html.index(f"{nearest:.3f}") < html.rindex(f"{farthest:.3f}")
