"""Frames between a parent and its child: four bytes of length, then msgpack.

NumPy arrays cross as (dtype, shape, bytes), so no pickle is ever read. An error
crosses as a word from a fixed list, never as the text of an exception, which may
hold words of a user.

    parent to child   {"settings": {...}}                      once, first
                      {"id": n, "op": name, "priority": p, "payload": {...}}
                      {"drop": n}                              nobody waits for call n any more
                      {"stop": true}                           finish the step and leave
    child to parent   {"ready": {...}} or {"failed": word}     once, first
                      {"id": n, "result": value} or {"id": n, "error": word}
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import msgpack
import numpy as np

from seedbed_server.errors import OverloadedError, SeedbedError, StorageFullError, StorageUnavailableError

Frame = dict[str, Any]

HEADER = struct.Struct(">I")
MAX_FRAME = 256 * 1024 * 1024
"""Bytes; far above any batch that is sent, so a longer length means a broken stream."""

PING = "ping"
"""An operation that every child has: it answers None, before any other work."""

FAILED = "failed"
"""The word for an error that has no other."""

_ARRAY = 1
_DTYPES = frozenset({"float32", "int32", "int64", "uint8", "bool"})
_WORDS: Mapping[str, type[SeedbedError]] = {
    error.__name__: error for error in (StorageFullError, StorageUnavailableError, OverloadedError)
}


class Priority(IntEnum):
    """Who goes first: between two steps of a bulk call, every urgent one."""

    URGENT = 0
    BULK = 1


def word_of(error: BaseException) -> str:
    """The word that crosses in place of this error."""
    name = type(error).__name__
    return name if name in _WORDS else FAILED


def error_of(word: str) -> SeedbedError | None:
    """The error a word stands for; None for one that only says the call failed."""
    known = _WORDS.get(word)
    return known() if known else None


def pack(frame: Mapping[str, Any]) -> bytes:
    """The bytes of a frame. A lone surrogate in a text becomes ``?``: it has no UTF-8 form."""
    body: bytes = msgpack.packb(frame, default=_to_ext, unicode_errors="replace")
    if len(body) > MAX_FRAME:
        raise ValueError("frame too long")
    return HEADER.pack(len(body)) + body


def unpack(body: bytes) -> Frame:
    """The frame of these bytes, without the length. Arrays in it are read-only."""
    frame: Frame = msgpack.unpackb(body, ext_hook=_from_ext, strict_map_key=False)
    return frame


def length_of(header: bytes) -> int:
    """The length a header announces; ValueError when no frame is that long."""
    (length,) = HEADER.unpack(header)
    if length > MAX_FRAME:
        raise ValueError("not a frame")
    return int(length)


def _to_ext(value: object) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.name in _DTYPES:
        return msgpack.ExtType(_ARRAY, msgpack.packb((value.dtype.name, value.shape, value.tobytes())))
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not cross between processes")


def _from_ext(code: int, data: bytes) -> np.ndarray:
    dtype, shape, values = msgpack.unpackb(data)
    if code != _ARRAY or dtype not in _DTYPES:
        raise ValueError("unknown value")
    return np.frombuffer(values, dtype=dtype).reshape(shape)
