"""Checkpoints: the whole state of a run in one safetensors file.

In comes a tree of dicts, lists, numbers, text and tensors; out comes an equal tree. The tensors are
stored as such, the rest as JSON among them, with a SHA-256 over everything. The file is written
beside its name and renamed into place, so a broken write leaves the previous one whole.
There is no pickle.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ..errors import BundleFormatError, ChecksumMismatch, SettingError

FORMAT = 1
_MARK = "$tensor"
_TREE = "$tree"


def write_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write ``state`` to ``path``, replacing what is there in one move.

    Args:
        path: File to write; its folder is made where missing.
        state: Tree of dicts with text keys, lists, tuples, numbers, text, None and tensors.
    """
    tensors: dict[str, Tensor] = {}
    tree = json.dumps(_strip(state, "", tensors)).encode()
    # As a tensor, because a header has a size limit and a long history would meet it.
    tensors[_TREE] = torch.frombuffer(bytearray(tree), dtype=torch.uint8)
    header = {"format": str(FORMAT), "sha256": _digest(tensors)}
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    with beside.open("wb") as file:
        file.write(save(tensors, metadata=header))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read what :func:`write_checkpoint` wrote.

    Raises:
        BundleFormatError: Not a checkpoint, truncated, or of a newer format.
        ChecksumMismatch: The content is not what was written.
    """
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise BundleFormatError(
            f"{path} cannot be read as a checkpoint ({error}); use an earlier one"
        ) from error
    found = header.get("format", "none")
    if found != str(FORMAT):
        raise BundleFormatError(
            f"{path} has checkpoint format {found}, this version reads {FORMAT}; "
            "resume with the version that wrote it"
        )
    if _digest(tensors) != header["sha256"]:
        raise ChecksumMismatch(f"{path} is not the file that was written; use an earlier one")
    tree = json.loads(tensors[_TREE].numpy().tobytes())
    state: dict[str, Any] = _fill(tree, tensors)
    return state


def require_same_run(saved: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Refuse to go on from a checkpoint of another run.

    Args:
        saved: Part by part, what the run in the checkpoint was.
        present: The same of the run that wants to go on.

    Raises:
        SettingError: They differ; every differing part is named.
    """
    differing = [
        f"{part} was {saved.get(part)}, is {value}"
        for part, value in present.items()
        if saved.get(part) != _plain(value)
    ]
    if differing:
        raise SettingError(
            f"the checkpoint belongs to another run: {'; '.join(differing)}; build the trainer "
            "with the saved settings, or start a new run with fit"
        )


def _plain(value: Any) -> Any:
    """Bring tuples to the lists that JSON made of them."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _strip(node: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(node, Tensor):
        # A copy, because safetensors refuses tensors that share memory.
        tensors[name] = node.detach().to("cpu", copy=True).contiguous()
        return {_MARK: name}
    if isinstance(node, Mapping):
        return {str(key): _strip(value, f"{name}/{key}", tensors) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [_strip(value, f"{name}/{place}", tensors) for place, value in enumerate(node)]
    return node


def _fill(node: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(node, dict):
        if _MARK in node:
            return tensors[node[_MARK]]
        return {key: _fill(value, tensors) for key, value in node.items()}
    if isinstance(node, list):
        return [_fill(value, tensors) for value in node]
    return node


def _digest(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
