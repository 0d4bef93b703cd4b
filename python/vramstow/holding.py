"""Finds the owners of PyTorch's tensors: vramstow.census()."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass

from vramstow import library

_ROOM = 1 << 20  # the most bytes of the answer


@dataclass(frozen=True)
class Holder:
    """The owner of some tensors, for example `train: hist[0..11].grad_fn → saved by MulBackward0`.

    `role` is parameter, buffer, gradient, optimizer_state, saved or other. `about` describes the
    largest of its blocks: `float32 [64, 1024]`.
    """

    holder: str
    bytes: int
    blocks: int
    device: int
    role: str
    about: str


@dataclass(frozen=True)
class Census:
    """The owners and their bytes, the largest first.

    `live_bytes` are the bytes that PyTorch has allocated, `found_bytes` those whose owner was
    found. `why_ended` is the reason why the search stopped early (None if it was complete).
    `left_out` is the number of owners that are not listed.
    """

    found_bytes: int
    live_bytes: int
    duration_ns: int
    objects: int
    why_ended: str | None
    holders: tuple[Holder, ...]
    left_out: int


def census() -> Census | None:
    """Finds the owners of PyTorch's tensors now, records them in the trace, and returns them.

    Returns None if no census is possible: without vramstow or a trace, before the first use of
    CUDA, with --census=off, and with an unsupported version of Python or PyTorch.
    """
    if library.function("vramstow_census") is None:
        return None
    # The caller does not release Python's lock, so nothing changes meanwhile.
    take = library.with_lock("vramstow_census")
    text = ctypes.create_string_buffer(_ROOM)
    if take(text, ctypes.c_size_t(len(text))) != library.OK:
        return None
    found = json.loads(text.value.decode("utf-8", "replace"))
    return Census(**found | {"holders": tuple(Holder(**row) for row in found["holders"])})
