"""Compares vramstow analyze on real files with values that were computed independently."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from built import Ran, facts_of, run_vramstow
from corpus import corpus_file

MIB = 2**20
# Each row has the file, then its segments, blocks, reserved MiB, allocated MiB, and events.
SNAPSHOTS = {
    "lm-medium-ctx128-training.pickle": (377, 918, 6900.0, 6501.09, 19136),
    "lm-medium-ctx512-training.pickle": (400, 1041, 12074.0, 6521.33, 22332),
    "lm-medium-ctx1024-inference.pickle": (108, 239, 3056.0, 1624.75, 3840),
    "lm-small-forward-bf16.pickle": (43, 178, 822.0, 500.95, 2811),
    "lm-small-forward-fp32.pickle": (29, 164, 582.0, 500.95, 2043),
    "lm-warm-cache.pickle": (216, 455, 13524.0, 1313.93, 5163),
    "rl-training-pools-no-events.pickle": (127, 638, 24976.0, 23761.78, 0),
    "flexgen-2023-old-format.pickle": (266, 791, 6350.0, 3693.1, 1),
}


def analyze(*arguments: str | Path) -> Ran:
    return run_vramstow("analyze", *arguments, timeout=120)


@cache
def facts_of_corpus(name: str) -> dict[str, Any]:
    return facts_of(corpus_file(name))


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_has_its_figures(name: str) -> None:
    segments, blocks, reserved, allocated, events = SNAPSHOTS[name]
    facts = facts_of_corpus(name)
    assert facts["input"]["kind"] == "pytorch_snapshot"
    assert facts["input"]["events"] == events
    snapshot = facts["snapshot"]
    assert snapshot["segments"] == segments
    assert snapshot["blocks"] == blocks
    assert snapshot["reserved_bytes"] == reserved * MIB
    assert snapshot["allocated_bytes"] / MIB == pytest.approx(allocated, abs=0.05)
    # A block lies in a segment, so its bytes must not count twice. The reserved and allocated bytes
    # at the end must equal those of the snapshot.
    [device] = facts["devices"]
    assert device["reserved_bytes_at_end"] == snapshot["reserved_bytes"]
    assert device["bytes_at_end"] == snapshot["allocated_bytes"]
    assert facts["peak"]["reserved_bytes"] >= facts["peak"]["allocated_bytes"]


def test_a_window_that_opens_in_the_middle_of_a_run() -> None:
    counts = facts_of_corpus("lm-medium-ctx128-training.pickle")["counts"]
    assert counts["allocations"] == 6526
    assert counts["frees"] == 6305
    assert counts["events_by_kind"]["free_completed"] == 6305
    assert counts["frees_of_unseen"] == 438
    assert facts_of_corpus("lm-medium-ctx512-training.pickle")["cache"]["segments_taken"] == 1


def test_what_holds_the_peak_of_a_training_step_is_told() -> None:
    facts = facts_of_corpus("lm-medium-ctx128-training.pickle")
    uses = {row["category"]: row["bytes_at_peak"] for row in facts["by_category"]}
    assert sum(uses.values()) == facts["peak"]["allocated_bytes"]
    # The weights, their gradients and Adam's two moments are all large parts.
    assert uses["gradients"] > 1000 * MIB
    assert sum(row["bytes_at_peak"] for row in facts["by_site"]) <= facts["peak"]["allocated_bytes"]
    assert any("optimizer.py" in row["site"] for row in facts["by_site"])
    operations = {row["operation"] for row in facts["by_operation"]}
    assert {"add", "bmm"} <= operations
    assert not any(operation.startswith("aten::") for operation in operations)


def test_a_cache_that_holds_ten_times_what_is_used_gets_advice() -> None:
    facts = facts_of_corpus("lm-warm-cache.pickle")
    snapshot = facts["snapshot"]
    assert snapshot["reserved_bytes"] > 10 * snapshot["allocated_bytes"]
    advice = {one["id"]: one for one in facts["advice"]}
    cached = snapshot["reserved_bytes"] - snapshot["allocated_bytes"]
    assert advice["cache_at_end"]["bytes"] == cached
    for one in advice.values():
        assert one["evidence"]
        assert one["action"]


def test_three_pools_without_events() -> None:
    facts = facts_of_corpus("rl-training-pools-no-events.pickle")
    snapshot = facts["snapshot"]
    assert snapshot["pending_free_blocks"] == 9
    assert snapshot["inactive_blocks"] == 95
    assert len({pool["pool"] for pool in snapshot["pools"]}) == 3
    assert sum(pool["reserved_bytes"] for pool in snapshot["pools"]) == snapshot["reserved_bytes"]
    assert any("no events" in sentence for sentence in facts["input"]["missing"])
    assert facts["iterations"] == []
    assert facts["peak"]["allocated_bytes"] == snapshot["allocated_bytes"]


def test_the_layout_of_2023_says_what_it_lacks() -> None:
    missing = " ".join(facts_of_corpus("flexgen-2023-old-format.pickle")["input"]["missing"])
    assert "no time in 1 of 1 event" in missing
    assert "no pool id in 266 segments" in missing


def test_holes_and_used_memory_make_up_what_is_reserved() -> None:
    for name in SNAPSHOTS:
        facts = facts_of_corpus(name)
        fragmentation = facts["fragmentation"]
        assert fragmentation["in_pool"]
        free = fragmentation["at_peak"]["free_bytes"]
        then = facts["peak"]["reserved_then_bytes"]
        # Memory whose free is pending is neither allocated nor free.
        assert facts["peak"]["allocated_bytes"] + free <= then
        assert (
            then - facts["peak"]["allocated_bytes"] - free
            <= fragmentation["pending_free_peak_bytes"]
        )
        holes = fragmentation["holes"]
        assert holes[0]["bytes"] == fragmentation["at_peak"]["largest_free_range_bytes"]
        if fragmentation["hole_count"] == len(holes):
            assert sum(hole["bytes"] for hole in holes) == free


def test_the_memory_timeline() -> None:
    facts = facts_of_corpus("memory_timeline.raw.gz")
    assert facts["input"]["kind"] == "memory_timeline"
    assert facts["input"]["events"] == 16845
    assert facts["peak"]["allocated_bytes"] / MIB == pytest.approx(2940.02, abs=0.005)
    assert facts["peak"]["reserved_bytes"] is None
    assert facts["timeline"]["allocated_bytes"][0] / MIB >= 316.6
    assert facts["timeline"]["allocated_at_end_bytes"][-1] / MIB == pytest.approx(316.68, abs=0.005)
    uses = {row["category"]: row["bytes_at_peak"] for row in facts["by_category"]}
    assert sum(uses.values()) == facts["peak"]["allocated_bytes"]


@pytest.mark.parametrize(
    ("problem", "load"),
    [("A", 1048576), ("B", 1048576), ("C", 1039360), ("D", 986112), ("E", 1048576)],
)
def test_minimallocs_maximum_load(problem: str, load: int) -> None:
    facts = facts_of_corpus(f"minimalloc/{problem}.1048576.csv")
    assert facts["peak"]["allocated_bytes"] == load


def test_a_folder_is_the_ranks_of_a_job_and_strangers_are_named(tmp_path: Path) -> None:
    for rank, name in enumerate(("lm-small-forward-bf16.pickle", "lm-small-forward-fp32.pickle")):
        (tmp_path / f"{rank}.pickle").write_bytes(corpus_file(name).read_bytes())
    (tmp_path / "notes.txt").write_text("nothing to see")
    result = analyze("--json", tmp_path)
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert len(facts["ranks"]) == 2
    assert [rank["input"]["events"] for rank in facts["ranks"]] == [2811, 2043]
    [left_out] = facts["left_out"]
    assert "notes.txt" in left_out
    assert "notes.txt" in analyze(tmp_path).stdout


def test_a_folder_of_strangers_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing to see")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n")
    result = analyze(tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert str(tmp_path) in result.stderr


@pytest.mark.parametrize("name", [*SNAPSHOTS, "memory_timeline.raw.gz"])
def test_text_tells_the_numbers_of_the_json(name: str) -> None:
    facts = facts_of_corpus(name)
    text = analyze("--full", corpus_file(name)).stdout
    mib = facts["peak"]["allocated_bytes"] / MIB
    spelled = f"{mib:.0f} MiB" if mib < 999.5 else f"{mib / 1024:.2f} GiB"
    assert f"{spelled if mib / 1024 < 9.995 else f'{mib / 1024:.1f} GiB'} allocated" in text
    for one in facts["advice"]:
        assert f"[{one['id']}]" in text
