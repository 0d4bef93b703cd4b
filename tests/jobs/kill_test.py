"""A process killed at any moment leaves a trace with everything that had been committed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from call_log import Step, read_call_log, read_trace
from conftest import VRAMSTOW

PROGRAMS = Path(__file__).parent / "programs"
KILLS = 1000 if os.environ.get("VRAMSTOW_LONG") else 40


def kill_after(program: Path, folder: Path, seconds: float, pool: str) -> tuple[list[Step], Path]:
    """Runs the program, kills it, and returns the calls that it had acknowledged, and its trace."""
    simulate = f"--simulate=h200,call-log={folder}/call-log.csv"
    command = [
        VRAMSTOW,
        "run",
        simulate,
        f"--pool={pool}",
        "--trace-dir",
        folder,
        "--",
        program,
        "3",
        "1000000",
        "ack",
    ]
    said = folder / "acknowledged"
    with (
        said.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True) as run,
    ):
        while said.stat().st_size == 0:
            assert run.poll() is None, f"it ended before it did anything: {run.stderr.read()}"
            time.sleep(0.001)
        trace = next(folder.glob("*.stow"))
        time.sleep(seconds)
        os.kill(int(trace.stem.rpartition("-")[2]), signal.SIGKILL)
        err = run.communicate(timeout=60)[1]
    assert run.returncode == -signal.SIGKILL, err
    # A last line without its end was being written when the process died.
    lines = said.read_text().splitlines(keepends=True)
    return [step_of(line) for line in lines if line.endswith("\n")], trace


def step_of(line: str) -> Step:
    kind, address, *size = line.split()
    if kind == "A":
        return Step("cuMemAlloc", int(address), int(size[0]))
    return Step("cuMemFree", int(address), None)


def by_address(steps: list[Step]) -> dict[int, list[Step]]:
    table: dict[int, list[Step]] = {}
    for step in steps:
        table.setdefault(step.address, []).append(step)
    return table


def check_acknowledged(acknowledged: list[Step], trace: list[Step]) -> None:
    # As a bag: two threads may acknowledge in another order than they were served in.
    lost = Counter(acknowledged) - Counter(trace)
    assert not lost, f"acknowledged, but not in the trace: {lost}"


def check_witnessed(trace: list[Step], call_log: list[Step]) -> None:
    """Trace and call log differ by calls under way at most."""
    traced = by_address(trace)
    witnessed = by_address(call_log)
    under_way = 0
    for address in traced.keys() | witnessed.keys():
        one, other = traced.get(address, []), witnessed.get(address, [])
        common = min(len(one), len(other))
        assert one[:common] == other[:common], f"{address:#x}: {one} against {other}"
        under_way += len(one) + len(other) - 2 * common
    assert under_way <= 3, f"{under_way} calls differ, but only three threads were running"


@pytest.mark.parametrize(("pool", "kills"), [("off", KILLS * 4 // 5), ("on", KILLS // 5)])
def test_no_committed_event_is_lost_by_sigkill(tmp_path: Path, pool: str, kills: int) -> None:
    program = tmp_path / "driver_by_dlsym"
    source = PROGRAMS / "driver_by_dlsym.c"
    subprocess.run(["gcc", "-O1", "-pthread", source, "-o", program, "-ldl"], check=True)
    moments = random.Random(20)
    events = 0
    for kill in range(kills):
        folder = tmp_path / str(kill)
        folder.mkdir()
        acknowledged, trace = kill_after(program, folder, moments.random() * 0.1, pool)
        steps = read_trace(VRAMSTOW, trace, pooled=True)
        check_acknowledged(acknowledged, steps)
        check_witnessed(read_trace(VRAMSTOW, trace), read_call_log(folder / "call-log.csv"))
        events += len(steps)
        for file in folder.iterdir():
            file.unlink()
    assert events > 100 * kills, "the runs were too short to prove anything"
