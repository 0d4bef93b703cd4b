"""A process killed at any time leaves a trace with everything that had been committed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from built import VRAMSTOW
from call_log import Step, read_call_log, read_trace

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
    # A last line without its newline was being written when the process was killed.
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
    # The order is ignored, because two threads may acknowledge in another order than they were
    # served in.
    lost = Counter(acknowledged) - Counter(trace)
    assert not lost, f"acknowledged, but not in the trace: {lost}"


def check_witnessed(trace: list[Step], call_log: list[Step]) -> None:
    """Checks that trace and call log differ at most by unfinished calls."""
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


class Killed:
    """Runs a program that needs more memory than its GPU has, and kills it.

    The seconds until the kill begin when there is a trace or, with `after_a_step`, when the program
    has made its first step, in which memory moves.
    """

    def __init__(
        self, program: Path, folder: Path, runtime: Path, seconds: float, after_a_step: bool
    ) -> None:
        folder.mkdir()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        traces = folder / "traces"
        env = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(self.temporary)}
        card = "h200,memory=200MiB,context=64MiB"
        how = [f"--simulate={card}", "--pool=on", "--offload=auto,host=1GiB", "--trace-dir", traces]
        command = [VRAMSTOW, "run", *how, "--", program, "1000000"]
        with (
            (folder / "out").open("w") as out,
            (folder / "err").open("w") as err,
            subprocess.Popen(
                command, stdout=out, stderr=err, env=env, start_new_session=True
            ) as run,
        ):
            self.session = run.pid
            steps = folder / "out"
            while not list(traces.glob("*.stow")) or (after_a_step and steps.stat().st_size == 0):
                assert run.poll() is None, (folder / "err").read_text()
                time.sleep(0.001)
            (self.trace,) = traces.glob("*.stow")
            self.process = int(self.trace.stem.rpartition("-")[2])
            time.sleep(seconds)
            self.cards = cards_of(self.process)
            os.kill(self.process, signal.SIGKILL)
            self.status = run.wait(timeout=60)

    def processes(self) -> list[Path]:
        return [stat for stat in Path("/proc").glob("[0-9]*/stat") if self.has_made(stat)]

    def has_made(self, stat: Path) -> bool:
        try:
            return int(stat.read_text().rpartition(")")[2].split()[3]) == self.session
        except (FileNotFoundError, ProcessLookupError):
            return False

    def moved_bytes(self) -> int:
        """Returns the bytes that left the device, from a trace without damaged chunks."""
        command = [VRAMSTOW, "analyze", "--json", self.trace]
        told = subprocess.run(command, check=False, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        analysis = json.loads(told.stdout)
        assert analysis["input"]["report"]["damaged_chunks"] == 0
        return analysis["offload"]["out_bytes"]


def cards_of(process: int) -> set[Path]:
    """Returns the files of shared simulated cards that the process has mapped."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    return {Path(line.split()[5]) for line in lines if "/vramstow-cards-" in line}


def test_what_is_killed_while_memory_moves_leaves_nothing_behind(tmp_path: Path) -> None:
    program = tmp_path / "parks_state"
    source = PROGRAMS / "parks_state.c"
    subprocess.run(["gcc", "-O1", "-pthread", source, "-o", program, "-ldl"], check=True)
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    moments = random.Random(21)
    last_cards: set[Path] = set()
    for kill in range(KILLS // 10):
        after_a_step = kill % 2 == 0
        seconds = 2 * moments.random()
        killed = Killed(program, tmp_path / str(kill), runtime, seconds, after_a_step)
        assert killed.status == -signal.SIGKILL
        assert killed.processes() == []
        assert list(killed.temporary.iterdir()) == []
        assert list(killed.trace.parent.iterdir()) == [killed.trace]
        # A killed process cannot remove its files. The next process of the same user removes them.
        assert {socket.stem for socket in runtime.rglob("*.sock")} <= {str(killed.process)}
        assert not any(cards.exists() for cards in last_cards - killed.cards)
        last_cards = killed.cards
        assert killed.moved_bytes() != 0 or not after_a_step
        killed.trace.unlink()
