"""Tests vramstow export: events and analyses in formats of other tools."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import formats_python
import pytest
from built import VRAMSTOW
from corpus import corpus_file
from installation import analyze, write


def export(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload]
        [VRAMSTOW, "export", *arguments],
        **{"capture_output": True, "text": True, "timeout": 60, "check": False} | options,
    )


def test_every_event_has_its_line(tmp_path: Path) -> None:
    trace = write(tmp_path)
    result = export(trace, "--to", "csv")
    assert result.returncode == 0
    assert result.stderr == ""
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert [row["kind"] for row in rows] == ["allocate", "allocate", "free", "allocate"]
    sequence = [int(row["sequence"]) for row in rows]
    assert sequence == sorted(set(sequence))
    assert rows[0]["address"] == "0x10000"
    assert rows[0]["size"] == str(3 * 2**20)
    assert rows[0]["call"] == "cuMemAlloc"
    assert rows[0]["library"] == "/usr/lib/libjob.so"
    assert rows[3]["result"] == "2"


def test_a_file_gets_the_same(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    result = export(trace, "--to=csv", "-o", tmp_path / "events.csv")
    assert result.returncode == 0
    assert result.stdout == ""
    text = (tmp_path / "events.csv").read_text()
    assert text == export(trace, "--to", "csv").stdout
    assert text.count("\n") == 100005


def test_what_is_missing_is_said_beside(tmp_path: Path) -> None:
    result = export(write(tmp_path, "killed"), "--to", "csv")
    assert result.returncode == 0
    assert result.stdout.count("\n") == 5
    assert "was not closed" in result.stderr


@pytest.mark.parametrize(
    "name", ["csv", "rmm", "snapshot", "chrome", "perfetto", "pprof", "folded", "speedscope"]
)
def test_each_format_says_what_is_missing(tmp_path: Path, name: str) -> None:
    part = tmp_path / "part.pickle"
    whole = corpus_file("lm-small-forward-bf16.pickle").read_bytes()
    part.write_bytes(whole[: len(whole) * 3 // 4])
    for file in (part, write(tmp_path, "killed")):
        said = export(file, "--to", "csv").stderr.splitlines()
        result = export(file, "--to", name, "-o", tmp_path / "out")
        assert result.returncode == 0, result.stderr
        assert said and said[0] in result.stderr.splitlines()


def test_parquet_says_what_is_missing(tmp_path: Path) -> None:
    python = formats_python.need("pyarrow.parquet")
    result = export(
        *(write(tmp_path, "killed"), "--to", "parquet", "-o", tmp_path / "job"),
        env={"VRAMSTOW_PYTHON": python, "PATH": "/usr/bin:/bin"},
    )
    assert result.returncode == 0, result.stderr
    assert "was not closed" in result.stderr


def test_wrong_arguments_get_one_sentence(tmp_path: Path) -> None:
    trace = write(tmp_path)
    for arguments in (
        [trace],
        [trace, "--to", "xml"],
        ["--to", "csv"],
        [tmp_path / "none", "--to", "csv"],
        [trace, "--to", "csv", "-o", trace],
    ):
        result = export(*arguments)
        assert result.returncode == 2, arguments
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""
    assert export(trace, "--to", "csv").returncode == 0, "and the trace is still whole"


def test_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    for output in ("/dev/full", tmp_path / "no/such/folder"):
        result = export(trace, "--to", "csv", "-o", output)
        assert result.returncode == 1
        assert str(output) in result.stderr
    with open("/dev/full", "w") as full:
        result = export(
            trace, "--to", "csv", capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert result.returncode == 1


def test_an_rmm_log_gives_the_same_facts_again(tmp_path: Path) -> None:
    log = tmp_path / "rmm.csv"
    snapshot = corpus_file("lm-small-forward-bf16.pickle")
    assert export(snapshot, "--to", "rmm", "-o", log).returncode == 0
    before = json.loads(analyze("--json", snapshot).stdout)
    after = json.loads(analyze("--json", log).stdout)
    assert after["input"]["kind"] == "rmm_log"
    assert after["peak"]["allocated_bytes"] == before["peak"]["requested_bytes"]
    assert after["counts"]["frees"] == before["counts"]["frees"]


def test_stacks_at_the_peak_add_up_to_it(tmp_path: Path) -> None:
    snapshot = corpus_file("lm-medium-ctx512-training.pickle")
    peak = json.loads(analyze("--json", snapshot).stdout)["peak"]["allocated_bytes"]
    lines = export(snapshot, "--to", "folded").stdout.splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == peak
    assert any("model.py" in line and line.count(";") > 5 for line in lines)
    scope = json.loads(export(snapshot, "--to", "speedscope").stdout)
    [profile] = scope["profiles"]
    assert profile["unit"] == "bytes"
    assert sum(profile["weights"]) == profile["endValue"] == peak
    frames = len(scope["shared"]["frames"])
    assert all(0 <= frame < frames for sample in profile["samples"] for frame in sample)


def test_levels_over_time_are_counters(tmp_path: Path) -> None:
    snapshot = corpus_file("lm-medium-ctx128-training.pickle")
    facts = json.loads(analyze("--json", snapshot).stdout)
    trace = json.loads(export(snapshot, "--to", "chrome").stdout)
    counters = [event for event in trace["traceEvents"] if event["ph"] == "C"]
    assert max(c["args"]["allocated"] for c in counters) == facts["peak"]["allocated_bytes"]
    assert max(c["args"]["reserved"] for c in counters) == facts["peak"]["reserved_bytes"]
    assert [c["ts"] for c in counters] == sorted(c["ts"] for c in counters)
    marks = [event["ph"] for event in trace["traceEvents"] if event["ph"] != "C"]
    assert marks == ["B", "E"]
