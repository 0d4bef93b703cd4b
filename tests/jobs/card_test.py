"""Plain CUDA programs on a simulated GPU that is as strict as a real one may be."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from conftest import PROGRAMS, Rehearsal

Rehearse = Callable[..., Rehearsal]
POOL = {"VRAMSTOW_POOL": "on", "VRAMSTOW_CHECK": "1"}
EXPLICIT = POOL | {"VRAMSTOW_OFFLOAD": "explicit,host=1GiB"}
AUTO = POOL | {"VRAMSTOW_OFFLOAD": "auto,host=1GiB"}


# Triton queries the device pointer of each argument and fails if that is an error.
@pytest.mark.parametrize("refused", ["", ",fail=cuPointerGetAttribute:1+:1"])
def test_a_block_on_the_host_is_a_block_like_others(
    rehearse: Rehearse, python: str, refused: str
) -> None:
    job = rehearse(python, PROGRAMS / "offloaded_pointer.py", card=f"h100{refused}", env=EXPLICIT)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


def test_a_driver_that_is_too_new_moves_nothing_by_itself(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "offloaded_pointer.py", card="h100,cuda=13.3", env=AUTO)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]
    assert "--offload=auto moves no memory by itself: the driver belongs to CUDA 13.3" in job.err
    known = rehearse(python, PROGRAMS / "offloaded_pointer.py", card="h100", env=AUTO)
    assert known.status == 0 and "by itself" not in known.err


def test_a_driver_that_does_not_tell_arguments_is_named(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "short_run.py", card="h100,cuda=12.2", env=AUTO)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]
    assert "--offload=auto may move the wrong memory: the driver belongs to CUDA 12.2" in job.err


# The pool's thread maintains the pools every 50 ms, and the driver takes 200 ms to shut down.
def test_no_call_comes_while_the_driver_shuts_down(rehearse: Rehearse, python: str) -> None:
    runs = 200 if os.environ.get("VRAMSTOW_LONG") else 3
    for _ in range(runs):
        job = rehearse(python, PROGRAMS / "short_run.py", card="h100,exit=strict", env=EXPLICIT)
        assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


def test_a_block_waits_for_streams_of_other_cards(rehearse: Rehearse, python: str) -> None:
    card = "h100,memory=512MiB,count=2"
    job = rehearse(python, PROGRAMS / "foreign_stream.py", card=card, env=POOL)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


def test_nobody_asks_the_driver_about_a_stream_that_is_gone(
    rehearse: Rehearse, python: str
) -> None:
    card = "h100,memory=1GiB,context=100MiB"
    job = rehearse(python, PROGRAMS / "destroyed_stream.py", card=card, env=POOL)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


@pytest.mark.parametrize("other", ["peer", "second"])
def test_work_of_other_contexts_is_waited_for(rehearse: Rehearse, python: str, other: str) -> None:
    program = PROGRAMS / "other_context.py"
    job = rehearse(python, program, other, card="h100,count=2", env=EXPLICIT)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


# Desktop GPUs have no peer access: mapped memory is copied only if the call names both contexts.
@pytest.mark.parametrize("card", ["rtx4090,count=2", "h100,count=2,without=peer", "h100,count=2"])
def test_blocks_are_copied_between_cards(rehearse: Rehearse, python: str, card: str) -> None:
    job = rehearse(python, PROGRAMS / "copy_between_cards.py", card=card, env=POOL)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


@pytest.mark.parametrize("pool", [POOL, {"VRAMSTOW_POOL": "off"}], ids=["pool", "plain"])
@pytest.mark.parametrize("card", ["rtx4090,count=2", "h100,count=2"])
def test_shapes_and_batches_are_copied_between_cards(
    rehearse: Rehearse, python: str, card: str, pool: dict[str, str]
) -> None:
    job = rehearse(python, PROGRAMS / "shapes_between_cards.py", card=card, env=pool)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


def test_tensors_go_from_card_to_card_where_the_pool_serves_segments(
    rehearse: Rehearse, python: str
) -> None:
    program = PROGRAMS / "tensors_between_cards.py"
    env = POOL | {"VRAMSTOW_LEVEL": "segments"}
    job = rehearse(python, program, card="rtx4090,count=2", env=env)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


# Virtual GPUs and sandboxes refuse memory that can be exported to other processes. The pool must
# still use virtual memory there.
def test_memory_that_must_not_leave_the_process_is_stitched_all_the_same(
    rehearse: Rehearse, python: str
) -> None:
    program = PROGRAMS / "offloaded_pointer.py"
    job = rehearse(python, program, card="h100,without=shareable", env=EXPLICIT)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]
    assert "plain driver" not in job.err


# Memory that is registered with a network card stays at its address, even after the block is freed,
# memory is short and cached memory is released.
@pytest.mark.parametrize("pool", [POOL, EXPLICIT], ids=["pool", "offload"])
@pytest.mark.parametrize("way", ["descriptor", "attribute"])
def test_registered_memory_stays_behind_its_address(
    rehearse: Rehearse, python: str, way: str, pool: dict[str, str]
) -> None:
    card = "h100,memory=512MiB"
    job = rehearse(python, PROGRAMS / "registered.py", way, card=card, env=pool)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


# A free of the plain driver waits for all work, so that data written by work can be read on the
# host. The same must hold with the pool, for every kind of memory that the host reads.
@pytest.mark.parametrize("pool", [POOL, {"VRAMSTOW_POOL": "off"}], ids=["pool", "plain"])
@pytest.mark.parametrize(
    "memory", ["host-pool", "managed-pool", "host-chunk", "host-numa-chunk", "pageable"]
)
def test_the_host_reads_after_a_free_what_work_wrote(
    rehearse: Rehearse, python: str, memory: str, pool: dict[str, str]
) -> None:
    card = "h100,pageable=on" if memory == "pageable" else "h100"
    job = rehearse(python, PROGRAMS / "read_after_free.py", memory, card=card, env=pool)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


def test_a_block_that_a_network_card_uses_does_not_move(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "held_in_place.py", env=EXPLICIT)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]


# Host memory can be mapped since CUDA 12.2; the attribute that reports this was added in 12.9.
def test_a_driver_that_does_not_know_the_attribute_maps_host_memory_all_the_same(
    rehearse: Rehearse, python: str
) -> None:
    program = PROGRAMS / "short_run.py"
    job = rehearse(python, program, card="h100,cuda=12.4", env=EXPLICIT)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]
    told = rehearse(python, program, card="h100,cuda=12.4,without=host-vmm", env=EXPLICIT)
    refused = "cannot map host memory (cuMemCreate gave CUDA_ERROR_INVALID_VALUE;"
    assert told.status != 0 and refused in told.err


# Each step of the trial of host memory fails once; it leaves nothing behind, and the program
# continues.
@pytest.mark.parametrize("call", ["cuMemCreate", "cuMemMap", "cuMemcpyAsync"])
def test_a_trial_that_fails_leaves_nothing(rehearse: Rehearse, python: str, call: str) -> None:
    # The pool has reserved its addresses before the trial, so the first call of these functions
    # belongs to the trial.
    card = f"h100,cuda=12.4,fail={call}:1:801"
    told = ("env", "VRAMSTOW_HOST_MAPPING=*=node:0")
    job = rehearse(*told, python, PROGRAMS / "plain_block.py", card=card, env=EXPLICIT)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]
    assert "cannot map host memory (error 801;" in job.err
    job.assert_trace_equals_call_log()


# A driver may crash if a query for kernels gets a function, or the other way round. vramstow must
# query each handle as what it is; the block that stays on the GPU shows that it has examined the
# arguments.
def test_a_handle_is_asked_about_as_what_it_is(rehearse: Rehearse, python: str) -> None:
    job = rehearse(
        python, PROGRAMS / "launched_handles.py", env=EXPLICIT | {"VRAMSTOW_LAUNCHES": "count"}
    )
    assert job.status == 0, job.err[-3000:]
    assert job.out == "on the host: 0 3\n"
    launches = {row["kernel"]: row["launches"] for row in job.analysis()["launches"]["by_kernel"]}
    assert launches == {"with_address": 12, "without": 12}
