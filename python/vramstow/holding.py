"""Tells who holds PyTorch's tensors now: vramstow.census()."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass

from vramstow import library

_ROOM = 1 << 20  # bytes of the answer


@dataclass(frozen=True)
class Holder:
    """The holder of some tensors, as `train: hist[0..11].grad_fn → saved by MulBackward0`.

    `role` is parameter, buffer, gradient, optimizer_state, saved or other; `about` tells of the
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
    """The holders and their bytes: those of the most bytes first.

    `live_bytes` is what PyTorch holds, `found_bytes` what is held by somebody who was found, and
    `why_ended` why not all was looked at (None: it was). `left_out` holders had no room.
    """

    found_bytes: int
    live_bytes: int
    duration_ns: int
    objects: int
    why_ended: str | None
    holders: tuple[Holder, ...]
    left_out: int


def census() -> Census | None:
    """Looks up what holds PyTorch's tensors now, writes it into the trace, and returns it.

    None where no census can be taken: without vramstow or a trace, before CUDA is used, with
    --census=off, and with a Python or a PyTorch that it does not know.
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
