"""Tests vramstow export --merge, which adds memory to the events of a profiler's trace. The profile
here is made for a real trace; tests/jobs/profiler_test.py has one that PyTorch wrote."""

from __future__ import annotations

import csv
import gzip
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, run_vramstow
from installation import CUDA_BEGINS

MEBI = 1 << 20
BASE_NS = 1_700_000_000_000_000_000
JOB = f"""{CUDA_BEGINS}
for size in (1, 2, 3, 4):
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size << 20)) == 0
assert cuda.cuMemFree_v2(address) == 0
"""


def export(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_vramstow("export", *arguments, timeout=60)


class Recorded:
    """A job of four allocations and a free, with its trace and their times."""

    def __init__(self, folder: Path) -> None:
        command = [VRAMSTOW, "run", "--simulate=h200", f"--trace-dir={folder}", "--"]
        subprocess.run(
            [*command, sys.executable, "-c", JOB], check=True, capture_output=True, timeout=120
        )
        [self.trace] = folder.glob("*.stow")
        head = self.trace.read_bytes()[:40]
        (self.process,) = struct.unpack_from("<I", head, 20)
        (start_ns,) = struct.unpack_from("<Q", head, 32)
        rows = list(csv.DictReader(export(self.trace, "--to", "csv").stdout.splitlines()))
        told = [row for row in rows if row["memory"] == "device"]
        assert [row["kind"] for row in told] == ["allocate"] * 4 + ["free"]
        self.times_ns = [start_ns + int(row["time_ns"]) for row in told]
        [self.thread] = {int(row["thread"]) for row in told}

    def slice(self, name: str, first: int, last: int, **more: object) -> dict[str, Any]:
        """Returns a slice from just before one of the five events until just after another."""
        begin = self.times_ns[first] - 50
        return {
            "ph": "X",
            "cat": "cpu_op",
            "name": name,
            "pid": self.process,
            "tid": self.thread,
            "ts": (begin - BASE_NS) / 1000,
            "dur": (self.times_ns[last] + 50 - begin) / 1000,
        } | more

    def profile(self, path: Path, *events: dict[str, Any]) -> Path:
        told = {
            # The note looks like the beginning of the list of events, and stands before that list.
            "note": 'a "traceEvents": [ in a text \\',
            "baseTimeNanoseconds": BASE_NS,
            "lists": [["traceEvents"], {"traceEvents": [1]}],
            "traceEvents": list(events),
            "traceName": "x",
        }
        path.write_text(json.dumps(told))
        return path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("recorded"))


def ours(merged: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in merged["traceEvents"] if event.get("cat") == "vramstow"]


def test_each_allocation_lies_under_the_innermost_operator(
    recorded: Recorded, tmp_path: Path
) -> None:
    events = [
        recorded.slice("step", 0, 4, cat="user_annotation"),
        recorded.slice("aten::add", 0, 1),
        recorded.slice("aten::empty", 1, 1),
        # Neither another thread's operator nor a kernel counts as an operator of this thread.
        recorded.slice("aten::other", 2, 2, tid=recorded.thread + 1),
        recorded.slice("kernel", 2, 2, cat="kernel"),
        {"ph": "M", "name": "process_name", "pid": recorded.process, "args": {"name": "x"}},
    ]
    profile = recorded.profile(tmp_path / "profile.json", *events)
    done = export(recorded.trace, "--merge", profile, "-o", tmp_path / "both.json", "--json")
    assert done.returncode == 0, done.stderr
    assert "4 of 4 allocations are below an operator" in done.stderr
    assert json.loads(done.stdout)["format"] == "chrome"
    merged = json.loads((tmp_path / "both.json").read_text())
    instants = ours(merged)
    assert [event["args"]["operator"] for event in instants] == [
        "aten::add",
        "aten::empty",
        "step",
        "step",
        "step",
    ]
    assert [event["name"] for event in instants] == [
        *(f"cuMemAlloc {size} MiB" for size in (1, 2, 3, 4)),
        "cuMemFree 4 MiB",
    ]
    for event, time_ns in zip(instants, recorded.times_ns, strict=True):
        assert (event["ph"], event["s"]) == ("i", "t")
        assert (event["pid"], event["tid"]) == (recorded.process, recorded.thread)
        assert abs(event["ts"] * 1000 + BASE_NS - time_ns) < 1000
    levels = [event for event in merged["traceEvents"] if event["ph"] == "C"]
    totals = [0, 1, 3, 6, 10, 6]
    assert [event["args"]["allocated"] for event in levels] == [size * MEBI for size in totals]
    # All other events are unchanged from the profiler's file.
    rest = [event for event in merged["traceEvents"] if event not in instants + levels]
    assert rest == events
    assert merged | {"traceEvents": 0} == json.loads(profile.read_text()) | {"traceEvents": 0}


def test_a_converted_trace_is_of_the_same_process_and_time(
    recorded: Recorded, tmp_path: Path
) -> None:
    converted = tmp_path / "converted.stow"
    done = run_vramstow("convert", recorded.trace, "-o", converted, timeout=60)
    assert done.returncode == 0, done.stderr
    profile = recorded.profile(tmp_path / "profile.json", recorded.slice("step", 0, 4))
    merged = []
    for trace in (recorded.trace, converted):
        done = export(trace, "--merge", profile)
        assert done.returncode == 0, done.stderr
        merged.append(ours(json.loads(done.stdout)))
    assert merged[0] == merged[1] and len(merged[0]) == 5


def test_what_is_outside_the_profiled_steps_is_left_out(recorded: Recorded, tmp_path: Path) -> None:
    profile = recorded.profile(tmp_path / "p.json", recorded.slice("aten::mm", 2, 3))
    merged = json.loads(export(recorded.trace, "--merge", profile).stdout)
    assert [event["args"]["bytes"] for event in ours(merged)] == [3 * MEBI, 4 * MEBI]
    levels = [event for event in merged["traceEvents"] if event["ph"] == "C"]
    assert [event["args"]["allocated"] for event in levels] == [s * MEBI for s in (3, 6, 10)]


def test_packed_and_older_profiles_are_read(recorded: Recorded, tmp_path: Path) -> None:
    profile = recorded.profile(tmp_path / "p.json", recorded.slice("aten::mm", 0, 4))
    plain = export(recorded.trace, "--merge", profile).stdout
    (tmp_path / "p.json.gz").write_bytes(gzip.compress(profile.read_bytes()))
    assert export(recorded.trace, "--merge", tmp_path / "p.json.gz").stdout == plain
    # In this file the times count from 1970, and the list of events is not a member of an object.
    one = recorded.slice("aten::mm", 0, 4)
    one["ts"] += BASE_NS / 1000 - 1
    one["dur"] += 2
    (tmp_path / "old.json").write_text(json.dumps([one]))
    merged = json.loads(export(recorded.trace, "--merge", tmp_path / "old.json").stdout)
    instants = [event for event in merged if event.get("cat") == "vramstow"]
    assert [event["args"].get("operator") for event in instants] == ["aten::mm"] * 5


@pytest.mark.parametrize("between", ["", " \n\t"])
def test_an_empty_list_before_that_of_the_events_stays_valid(
    recorded: Recorded, tmp_path: Path, between: str
) -> None:
    """JSON permits the same key twice, and does not define which one counts."""
    profile = recorded.profile(tmp_path / "p.json", recorded.slice("aten::mm", 0, 4))
    text = profile.read_text()
    profile.write_text(f'{{"traceEvents": [{between}], {text[1:]}')
    done = export(recorded.trace, "--merge", profile)
    assert done.returncode == 0, done.stderr
    lists: list[list[dict[str, Any]]] = []

    def note(members: list[tuple[str, Any]]) -> dict[str, Any]:
        lists.extend(value for key, value in members if key == "traceEvents")
        return dict(members)

    json.loads(done.stdout, object_pairs_hook=note)
    first, last = [one for one in lists if one != [1]]
    assert [event["name"] for event in last] == ["aten::mm"]
    assert len([event for event in first if event.get("cat") == "vramstow"]) == 5


def test_another_time_is_told(recorded: Recorded, tmp_path: Path) -> None:
    late = recorded.slice("aten::mm", 0, 4)
    late["ts"] += 1e9
    profile = recorded.profile(tmp_path / "p.json", late)
    done = export(recorded.trace, "--merge", profile)
    assert done.returncode == 0 and "no time in common" in done.stderr
    assert ours(json.loads(done.stdout)) == []


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 1e300, -1e300])
def test_numbers_that_no_clock_tells_are_survived(
    recorded: Recorded, tmp_path: Path, number: float
) -> None:
    for strange in (
        {"ts": number},
        {"dur": number},
        {"ts": number, "dur": number},
        {"tid": number},
    ):
        event = recorded.slice("aten::mm", 0, 4) | strange
        profile = recorded.profile(tmp_path / "p.json", event, recorded.slice("aten::add", 0, 4))
        text = profile.read_text()
        for told in (text, text.replace(str(BASE_NS), str(number))):
            profile.write_text(told)
            done = export(recorded.trace, "--merge", profile)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["traceEvents"][-1]["name"] == "aten::add"


def test_what_cannot_be_merged_is_one_sentence(recorded: Recorded, tmp_path: Path) -> None:
    good = recorded.profile(tmp_path / "good.json", recorded.slice("aten::mm", 0, 4))
    other = recorded.slice("aten::mm", 0, 4, pid=recorded.process + 1)
    recorded.profile(tmp_path / "other.json", other)
    recorded.profile(tmp_path / "none.json", recorded.slice("k", 0, 4, cat="kernel"))
    (tmp_path / "cut.json").write_text(good.read_text()[:-40])
    (tmp_path / "text.json").write_text("{}")
    for arguments, said in (
        ([recorded.trace, "--merge", tmp_path / "other.json"], "the trace of the same process"),
        ([recorded.trace, "--merge", tmp_path / "none.json"], "without CPU operators"),
        ([recorded.trace, "--merge", tmp_path / "cut.json"], "damaged or ends early"),
        ([recorded.trace, "--merge", tmp_path / "text.json"], "without CPU operators"),
        ([recorded.trace, "--merge", tmp_path / "nowhere.json"], "nowhere.json"),
        ([good, "--merge", good], "is not a trace of vramstow"),
        ([recorded.trace, "--merge", good, "--to", "csv"], "--merge writes chrome"),
        (
            [recorded.trace, "--merge", good, "--to", "parquet", "-o", tmp_path / "x"],
            "writes chrome",
        ),
        ([recorded.trace, "--merge", good, "--redact"], "--redact"),
        ([recorded.trace, "--merge", good, "-o", good], "name another file"),
        ([recorded.trace, recorded.trace, "--merge", good], "only parquet accepts several"),
        ([recorded.trace], "--to needs a format"),
    ):
        done = export(*arguments)
        assert done.returncode == 2, arguments
        assert said in done.stderr and done.stderr.count("\n") == 1, (arguments, done.stderr)
    full = export(recorded.trace, "--merge", good, "-o", "/dev/full")
    assert full.returncode == 1 and "cannot write" in full.stderr
    assert good.read_text().startswith("{")
