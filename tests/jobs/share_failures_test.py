"""One of two programs that share a GPU has a driver whose calls fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sharers import SMALL_CARD, Share, tables

# The pool, and what moves its memory, make these calls.
CALLS = (
    "cuMemCreate",
    "cuMemMap",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuMemRelease",
    "cuMemcpyAsync",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemGetInfo",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamDestroy",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventQuery",
    "cuCtxRecordEvent",
    "cuCtxGetCurrent",
)
NUMBERS = (1, 2, 3, 4, 5, 6, 7, 8, 13, 21, 34, 55, 89, 144, 233)
FEW = (
    "cuMemRelease:1+",
    "cuMemHostAlloc:2",
    "cuMemcpyAsync:30",
    "cuMemMap:40",
    "cuStreamCreate:3+",
    "cuMemGetInfo:200+",
)
ALL = tuple(f"{call}:{number}{last}" for number in NUMBERS for call in CALLS for last in ("", "+"))
WRONG_BYTES, OUT_OF_MEMORY, DRIVER_ERROR = 3, 4, 5


@pytest.mark.parametrize("fail", ALL if os.environ.get("VRAMSTOW_LONG") else FEW)
def test_a_driver_that_fails_gives_no_wrong_byte_and_stops_nobody(
    share: Share, tmp_path: Path, fail: str
) -> None:
    failing = share(75, 6, 1, card=f"{SMALL_CARD},fail={fail}")
    other = share(75, 6, 2, card=SMALL_CARD)
    ends = failing.end(), other.end()
    assert ends[0] in (0, OUT_OF_MEMORY, DRIVER_ERROR), failing.said()
    # If a call always fails, the memory of that program may not move. If one fails while the pool
    # opens, the program has no pool. Then it is as if no memory of it were shared.
    lasts = fail.endswith("+") or "not by the pool" in failing.said()
    assert ends[1] in ((0, OUT_OF_MEMORY) if lasts else (0,)), other.said()
    assert tables(tmp_path) == []


def test_a_program_whose_memory_cannot_return_gets_an_error(share: Share) -> None:
    failing = share(75, 6, 1, card=f"{SMALL_CARD},fail=cuStreamCreate:4+")
    other = share(75, 20, 2, card=SMALL_CARD)
    assert failing.end() in (OUT_OF_MEMORY, DRIVER_ERROR), failing.said()
    assert other.end() in (0, OUT_OF_MEMORY), other.said()
    assert "the driver failed for 10 seconds to bring its memory back" in failing.said()
