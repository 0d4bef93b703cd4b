"""Other programs' files with less information, or in another form, give right values."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from built import facts_of, run_vramstow
from installation import analyze

MEBIBYTE = 2**20


def segment(device: int, address: int, size: int, live: int) -> dict[str, Any]:
    blocks = [
        {"address": address, "size": live, "requested_size": live, "state": "active_allocated"},
        {"address": address + live, "size": size - live, "requested_size": 0, "state": "inactive"},
    ]
    for block in blocks:
        block["frames"] = []
    return {
        "device": device,
        "address": address,
        "total_size": size,
        "allocated_size": live,
        "active_size": live,
        "requested_size": live,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": True,
        "frames": [],
        "blocks": blocks,
    }


def entry(action: str, address: int, size: int, time_us: int, **more: int) -> dict[str, Any]:
    return {
        "action": action,
        "addr": address,
        "size": size,
        "stream": 0,
        "time_us": time_us,
        "frames": [],
    } | more


def test_a_story_has_the_figures_of_the_card_that_failed(tmp_path: Path) -> None:
    size, live = 24 * MEBIBYTE, 9 * MEBIBYTE
    base = [0x7F0000000000 + device * 2**40 for device in range(3)]
    traces = [
        [
            entry("segment_map", base[device], size, 10),
            entry("alloc", base[device], live, 20 + device),
        ]
        for device in range(3)
    ]
    traces[1].append(entry("oom", 2 * MEBIBYTE, 80 * MEBIBYTE, 40, device_free=2 * MEBIBYTE))
    path = tmp_path / "snapshot.pickle"
    snapshot = {
        "segments": [segment(device, base[device], size, live) for device in range(3)],
        "device_traces": traces,
    }
    path.write_bytes(pickle.dumps(snapshot))
    [failure] = facts_of(path)["out_of_memory"]
    assert failure["device"] == 1
    assert failure["pool"]["reserved_bytes"] == size
    assert failure["pool"]["free_bytes"] == size - live
    assert failure["pool"]["largest_hole"]["bytes"] == size - live
    assert failure["demand"]["live_bytes"] == live
    assert failure["demand"]["room_bytes"] == size + 2 * MEBIBYTE


def test_a_free_that_is_only_completed_is_a_free(tmp_path: Path) -> None:
    base = 0x7F0000000000
    trace = []
    for turn in range(5):
        where = base + 2 * MEBIBYTE + (turn % 2) * 6 * MEBIBYTE
        trace.append(entry("alloc", where, 4 * MEBIBYTE, 100 + 20 * turn))
        trace.append(entry("free_completed", where, 4 * MEBIBYTE, 110 + 20 * turn))
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(
        pickle.dumps(
            {
                "segments": [segment(0, base, 20 * MEBIBYTE, 2 * MEBIBYTE)],
                "device_traces": [trace],
            }
        )
    )
    facts = facts_of(path)
    assert facts["peak"]["allocated_bytes"] == 6 * MEBIBYTE
    assert facts["counts"]["frees"] == 5
    again = tmp_path / "again.pickle"
    done = run_vramstow("export", "--to", "snapshot", path, "-o", again)
    assert done.returncode == 0, done.stderr
    assert facts_of(again)["peak"]["allocated_bytes"] == 6 * MEBIBYTE


def profiler_trace(sizes: list[int], steps: int = 0) -> dict[str, Any]:
    events: list[dict[str, Any]] = [
        {
            "ph": "i",
            "name": "[memory]",
            "tid": 7,
            "ts": 1000 + 100 * number,
            "args": {"Device Type": 1, "Device Id": 0, "Bytes": size},
        }
        for number, size in enumerate(sizes)
    ]
    for number in range(steps):
        step = {"ph": "X", "tid": 7, "name": f"ProfilerStep#{number}", "dur": 90}
        events.append(step | {"cat": "user_annotation", "ts": 1000 + 300 * number})
        events.append(step | {"cat": "gpu_user_annotation", "ts": 1011 + 300 * number})
    return {"traceEvents": events}


def test_a_profiler_trace_without_addresses_is_a_curve(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    sizes = [-MEBIBYTE] + 4 * [8 * MEBIBYTE, 512, -8 * MEBIBYTE]
    path.write_text(json.dumps(profiler_trace(sizes, steps=4)))
    facts = facts_of(path)
    assert facts["input"]["kind"] == "profiler_trace"
    # A block whose first event is a free existed before the recording.
    assert facts["peak"]["allocated_bytes"] == 8 * MEBIBYTE + 4 * 512
    assert facts["counts"]["allocations"] == 8
    assert facts["counts"]["frees"] == 5
    assert facts["iterations_found"]["count"] == 4
    replay = run_vramstow("replay", path)
    assert replay.returncode != 0
    assert "without addresses" in replay.stderr


def test_the_levels_that_a_profiler_trace_tells_are_believed(tmp_path: Path) -> None:
    """3 GiB were allocated before it; 4 GiB of the GPU's 8 are reserved."""
    events = [
        {
            "name": "[memory]",
            "ts": 10 + number,
            "args": {
                "Device Type": 1,
                "Device Id": 0,
                "Addr": 4096,
                "Bytes": MEBIBYTE if number % 2 == 0 else -MEBIBYTE,
                "Total Allocated": (3072 + (number + 1) % 2) * MEBIBYTE,
                "Total Reserved": 4096 * MEBIBYTE,
            },
        }
        for number in range(8)
    ]
    card = {"id": 0, "name": "NVIDIA L4", "totalGlobalMem": 8192 * MEBIBYTE}
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"deviceProperties": [card], "traceEvents": events}))
    facts = facts_of(trace)
    assert facts["peak"]["allocated_bytes"] == 3073 * MEBIBYTE
    assert facts["devices"][0]["peak_reserved_bytes"] == 4096 * MEBIBYTE
    assert "4.00 GiB of the" in analyze(trace).stdout
    done = run_vramstow("check", trace, "--assert", "peak_allocated <= 1GiB")
    assert done.returncode == 1


def test_profiler_steps_are_iterations_of_blocks_too(tmp_path: Path) -> None:
    trace = profiler_trace(4 * [8 * MEBIBYTE, 512, -8 * MEBIBYTE], steps=4)
    for event in trace["traceEvents"]:
        if event["name"] == "[memory]":
            event["args"]["Addr"] = 4096 * (1 + abs(event["args"]["Bytes"]) % 7)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    assert facts_of(path)["iterations_found"]["count"] == 4


def test_the_debug_log_of_rmm_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rmm.txt"
    path.write_text(
        "[   123][09:00:00:000001][info  ] ----- RMM LOG BEGIN [PTDS DISABLED] -----\n"
        "[   123][09:00:00:000050][error ] [A][Stream 0x1][Upstream 64B][FAILURE no memory]\n"
    )
    done = analyze(path)
    assert done.returncode != 0
    assert "RMM's debug log" in done.stderr
    assert "logging_resource_adaptor" in done.stderr


def test_whether_a_request_fits_on_an_unknown_card_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "rmm.csv"
    path.write_text(
        "Thread,Time,Action,Pointer,Size,Stream\n"
        "9,10:00:00:000010,allocate,0x7f0000000000,1048576,0\n"
        "9,10:00:00:000030,allocate failure,(nil),8589934592,0\n"
    )
    [failure] = facts_of(path)["out_of_memory"]
    assert failure["demand"]["room_bytes"] == 0
    assert failure["replays"] == []
    text = analyze(path).stdout
    assert "fit" not in text.split("Device memory over time")[0]
    full = analyze("--help").stdout
    text = analyze("--full", path).stdout if "--full" in full else text
    assert "the missing memory is not known" in text


@pytest.mark.parametrize("size", [2**62, -(2**62)])
def test_sizes_that_do_not_add_up_do_no_harm(tmp_path: Path, size: int) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(profiler_trace(4 * [size])))
    facts_of(path)
