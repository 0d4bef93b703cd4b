"""bench/month.py finds the differences between a trace of limited size and a whole one."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))
import month

MEBIBYTE = 1 << 20


def facts() -> dict[str, Any]:
    """Returns facts of a run whose last quarters are 36 s apart: one more block is 100 blocks an
    hour."""
    rates = {"leak": 5000, "busy": 900, "edge": 70}
    return {
        "peak": {"allocated_bytes": 100, "time_ns": 5, "largest_block_bytes": MEBIBYTE},
        "counts": {"allocations": 7},
        "leaks": {"count": 1, "groups": []},
        "by_operation": [],
        "histogram": [],
        "growth": {
            "is_endless": True,
            "bytes_per_hour": 6000 * MEBIBYTE,
            "over_ns": 36_000_000_000,
            "by_site": [
                {"operation": name, "bytes_per_hour": rate * MEBIBYTE}
                for name, rate in rates.items()
            ],
        },
    }


def test_a_block_between_two_records_is_no_difference() -> None:
    other = facts()
    other["growth"]["bytes_per_hour"] += 100 * MEBIBYTE
    other["growth"]["by_site"][1]["bytes_per_hour"] -= 200 * MEBIBYTE
    del other["growth"]["by_site"][2]  # it is as large as the smallest that is listed
    assert month.differences(facts(), other) == []
    assert month.differences(other, facts()) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda it: it["growth"]["by_site"].pop(1), ["busy grows in one only"]),
        (
            lambda it: it["growth"]["by_site"][0].update(bytes_per_hour=4700 * MEBIBYTE),
            ["growth of leak"],
        ),
        (lambda it: it["growth"].update(bytes_per_hour=5700 * MEBIBYTE), ["growth"]),
        (lambda it: it["growth"].update(is_endless=False), ["is_endless"]),
        (lambda it: it["peak"].update(allocated_bytes=101), ["peak"]),
        (lambda it: it.update(growth=None), ["growth is not known"]),
    ],
)
def test_more_is_a_difference(change: Callable[[dict[str, Any]], Any], found: list[str]) -> None:
    other = copy.deepcopy(facts())
    change(other)
    assert month.differences(facts(), other) == found


def test_a_moment_does_not_matter() -> None:
    other = facts()
    other["peak"]["time_ns"] = 6
    assert month.differences(facts(), other) == []
