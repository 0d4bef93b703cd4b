"""The comparison with the call log finds the differences that it should find."""

from __future__ import annotations

from pathlib import Path

import pytest
from call_log import Step, differences, read_call_log, steps_of

ALLOCATE = Step("cuMemAlloc", 0x1000, 512)
FREE = Step("cuMemFree", 0x1000, None)


def test_equal_histories_have_no_differences() -> None:
    assert differences([ALLOCATE, FREE, ALLOCATE], [ALLOCATE, FREE, ALLOCATE]) == []


@pytest.mark.parametrize(
    "trace",
    [
        [ALLOCATE],
        [ALLOCATE, FREE, FREE],
        [FREE, ALLOCATE],
        [Step("cuMemAlloc", 0x1000, 513), FREE],
        [Step("cuMemAlloc", 0x2000, 512), FREE],
        [Step("cuMemAllocManaged", 0x1000, 512), FREE],
        [],
    ],
)
def test_a_missing_an_invented_and_a_changed_step_are_found(trace: list[Step]) -> None:
    assert differences([ALLOCATE, FREE], trace)


def row(**values: str) -> dict[str, str]:
    empty = dict.fromkeys(("size", "requested", "object", "result", "address"), "0")
    return empty | {"call": "cuMemFree", "memory": "device"} | values


def test_a_refused_free_did_not_happen() -> None:
    rows = [
        row(sequence="1", kind="allocate", call="cuMemAlloc", address="0x1000", size="512"),
        row(sequence="2", kind="free", address="0x1000"),
        row(sequence="3", kind="refused", object="2", result="1"),
    ]
    assert steps_of(rows) == [ALLOCATE]


def test_blocks_of_the_pool_never_reached_the_driver_but_its_chunks_did() -> None:
    chunk = {"memory": "physical", "address": "0x70000002", "size": "2097152"}
    block = {"address": "0x1000", "size": "512"}
    rows = [
        row(sequence="1", kind="allocate", call="cuMemCreate", **chunk),
        row(sequence="2", kind="allocate", call="cuMemAlloc", object="0x4", **block),
        row(sequence="3", kind="free", address="0x1000"),
        row(sequence="4", kind="free", call="cuMemRelease", **chunk),
        row(sequence="5", kind="allocate", call="cuMemAlloc", **block),
        row(sequence="6", kind="free", address="0x1000"),
    ]
    assert steps_of(rows) == [
        Step("cuMemCreate", 0x70000002, 2097152),
        Step("cuMemRelease", 0x70000002, None),
        ALLOCATE,
        FREE,
    ]


def test_a_failed_allocation_did_not_happen() -> None:
    rows = [row(sequence="1", kind="allocate", call="cuMemAlloc", requested="512", result="2")]
    assert steps_of(rows) == []


def test_a_call_that_the_comparison_does_not_know_is_an_error(tmp_path: Path) -> None:
    call_log = tmp_path / "call-log.csv"
    call_log.write_text(
        "sequence,time_ns,device,call,address,bytes,result\n1,0,0,cuMemConjure,0x1000,512,0\n"
    )
    with pytest.raises(AssertionError, match="cuMemConjure"):
        read_call_log(call_log)


def test_what_a_capture_was_asked_for_is_compared() -> None:
    rows = [
        row(sequence="1", kind="graph_allocate", call="cuMemAllocAsync", address="1", size="8"),
        row(sequence="2", kind="graph_free", call="cuMemFreeAsync", address="1"),
    ]
    assert steps_of(rows) == [Step("cuMemAllocAsync", 1, 8), Step("cuMemFreeAsync", 1, None)]
