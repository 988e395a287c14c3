"""The fingerprint: which encoder made these vectors, in 64 hexadecimal digits.

In: a module and the preprocessing in front of it. Out: SHA-256 over structure, weights,
preprocessing and the name of the normalisation; the same in every process and on every machine.
Two encoders with one fingerprint give the same vectors, so an index, a mining cache or a probe
set asks for nothing else.

A new kind of value in a preprocessing mapping needs a branch in ``_feed``.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..errors import InputError

if TYPE_CHECKING:
    from hashlib import _Hash

NORMALISATION = "unit-sphere"
"""Name of what ``normalize`` does; it changes when that function's answers change."""


def fingerprint(module: torch.nn.Module, *, preprocessing: Mapping[str, object]) -> str:
    """Name an encoder by what it computes.

    Covered: the classes of the module's parts by name, every parameter and buffer that is saved
    with it, the preprocessing, and the normalisation. Settings that live in neither (a kernel
    size without weights, say) belong into ``preprocessing``. Training mode, device and gradients
    do not count.

    Args:
        module: The encoder, up to the layer that serves.
        preprocessing: What happens before it: names to numbers, strings, None, arrays, tensors,
            or sequences and mappings of these.

    Returns:
        64 hexadecimal digits.

    Raises:
        InputError: A value in ``preprocessing`` of a kind that has no stable bytes.

    >>> name = fingerprint(torch.nn.Identity(), preprocessing={"lookback": 24})
    >>> name == fingerprint(torch.nn.Identity(), preprocessing={"lookback": 24})
    True
    >>> name == fingerprint(torch.nn.Identity(), preprocessing={"lookback": 48})
    False
    """
    digest = hashlib.sha256()
    parts = [[name, type(part).__qualname__] for name, part in sorted(module.named_modules())]
    _feed(digest, NORMALISATION, "normalisation")
    _feed(digest, parts, "parts")
    _feed(digest, module.state_dict(), "weights")
    _feed(digest, preprocessing, "preprocessing")
    return digest.hexdigest()


def _feed(digest: _Hash, value: object, where: str) -> None:
    """Add a value with its type and length, so that no two values run into each other."""
    match value:
        case None | bool():
            _add(digest, b"constant", repr(value).encode())
        case int() | np.integer():
            _add(digest, b"int", str(int(value)).encode())
        case float() | np.floating():
            _add(digest, b"float", struct.pack("<d", float(value)))
        case str():
            _add(digest, b"str", value.encode())
        case bytes():
            _add(digest, b"bytes", value)
        case torch.Tensor():
            _add(digest, f"tensor {value.dtype} {list(value.shape)}".encode(), _bytes(value))
        case np.ndarray() if value.dtype.kind in "biufU":
            order = value.dtype.newbyteorder("<")
            plain = np.ascontiguousarray(value, dtype=order)
            _add(digest, f"array {order.str} {list(value.shape)}".encode(), plain.tobytes())
        case Mapping():
            _add(digest, b"mapping", str(len(value)).encode())
            for key in sorted(value):
                _feed(digest, key, where)
                _feed(digest, value[key], f"{where}.{key}")
        case Sequence():
            _add(digest, b"sequence", str(len(value)).encode())
            for place, one in enumerate(value):
                _feed(digest, one, f"{where}[{place}]")
        case _:
            raise InputError(
                f"{where} is a {type(value).__name__}, which has no stable bytes to fingerprint; "
                "give numbers, strings, arrays, or sequences and mappings of these"
            )


def _add(digest: _Hash, kind: bytes, payload: bytes) -> None:
    digest.update(kind + b"\x00" + struct.pack("<Q", len(payload)))
    digest.update(payload)


def _bytes(tensor: torch.Tensor) -> bytes:
    """Give the memory of a tensor; through uint8, because numpy knows no bfloat16."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()
