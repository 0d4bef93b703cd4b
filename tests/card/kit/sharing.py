"""Two processes use the GPU in turns, each with 60% of its memory (vramstow run --share).

The program checks every byte on the GPU. Both processes run until each has had its turns, which
`vramstow top` tells, or until the time is over. The figures of the exchanges are those of the
processes' traces.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import subprocess
import time
from concurrent.futures import Future
from pathlib import Path

from kit import rehearsal
from kit.machine import Ended, Machine, NoTimeError
from kit.outcome import FailedError, NothingShownError

PART = 0.6
TURNS = 10
# The program ends after PROGRAM_SECONDS, and the rest is for its start and its last exchange.
PROGRAM_SECONDS = 140
STEP_SECONDS = 180
LOOK_SECONDS = 1.0
# Each process moves at most this part of the GPU's memory: what both lack together, a sixty-fourth
# that stays free, and the contexts. It may use half of the free host memory, the second process
# half of what the first one leaves.
MOVED_PART = 2 * PART - 1 + 0.05
HOST_PARTS = 3
# Memory of other programs does not move, so at least this part of the GPU must be free.
LEAST_FREE = 0.75
# A simulated GPU is this small, because its memory is memory of this machine.
SIMULATED = "memory=256MiB,context=16MiB"


def last_object(text: str) -> dict:
    """Parses the last line if it is a JSON object; otherwise returns an empty one."""
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def free_host_bytes() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024


def why_not(total_bytes: int, free_bytes: int, free_host: int) -> str:
    """Returns why this machine has no room for the two processes; empty if it has."""
    gib = 1 << 30
    if free_bytes < LEAST_FREE * total_bytes:
        return f"only {free_bytes / gib:.0f} GiB of {total_bytes / gib:.0f} GiB of the GPU are free"
    needed = HOST_PARTS * MOVED_PART * total_bytes
    if free_host < needed:
        free = free_host / gib
        return f"{free:.0f} GiB of host memory are free, and {needed / gib:.0f} GiB are needed"
    return ""


class Turns:
    """One attempt, with its files in a folder of the step."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._folder = machine.folder / "share"
        self._stop = self._folder / "stop"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._stop.unlink(missing_ok=True)
        machine.extra["XDG_RUNTIME_DIR"] = str(self._folder)
        if rehearsal.SIMULATE:
            spec = f"{rehearsal.SIMULATE},{SIMULATED},share=card{os.getpid()}"
            machine.extra["VRAMSTOW_SIMULATED_CARD"] = spec

    def _run(self, number: int) -> Ended:
        traces = self._folder / f"traces{number}"
        traces.mkdir(exist_ok=True)
        # The kit may have little time, and the program must end before it is ended.
        left = min(self._machine.step_end, self._machine.end) - time.monotonic()
        seconds = max(min(PROGRAM_SECONDS, left - 30), 5)
        flags = ("--until", str(self._stop), "--seconds", f"{seconds:.0f}")
        job = self._machine.job(
            "takes_turns.py", "--part", str(PART), "--seed", str(number), *flags
        )
        return self._machine.run(self._machine.under(job, "--share", f"--trace-dir={traces}"))

    def _turns(self) -> list[int]:
        """Returns how many turns each process has had so far."""
        command = self._machine.vramstow("top", "--json")
        environment = self._machine.environment()
        ran = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=30, check=False
        )
        return [int(row["turns"]) for row in last_object(ran.stdout).get("sharing", [])]

    def _watch(self, running: list[Future[Ended]]) -> None:
        """Ends the programs when each has had its turns, or one has ended by itself."""
        while not any(one.done() for one in running):
            turns = self._turns()
            if len(turns) == len(running) and min(turns) >= TURNS:
                break
            concurrent.futures.wait(running, LOOK_SECONDS, concurrent.futures.FIRST_COMPLETED)
        self._stop.touch()

    def _figures(self, number: int, ended: Ended) -> dict:
        told = last_object(ended.out)
        figures: dict = {"exit_status": ended.status, "seconds": round(ended.seconds, 1), **told}
        for trace in (self._folder / f"traces{number}").glob("*.stow"):
            read = self._machine.run(self._machine.vramstow("analyze", "--json", str(trace)))
            facts = last_object(read.out).get("facts", {})
            shared = {
                name.removeprefix("share."): int(value)
                for name, value in facts.items()
                if name.startswith("share.")
            }
            if not shared:
                continue
            figures |= {name: shared[name] for name in ("turns", "out_bytes", "in_bytes")}
            figures["waited_seconds"] = round(shared["waited_ns"] / 1e9, 2)
            for way in ("out", "in"):
                # Bytes per nanosecond are gigabytes per second.
                rate = shared[f"{way}_bytes"] / max(shared[f"{way}_ns"], 1)
                figures[f"{way}_gb_per_second"] = round(rate, 2)
        return figures

    def run(self) -> list[dict]:
        """Returns the figures of both processes."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            try:
                running = [pool.submit(self._run, number) for number in (1, 2)]
                self._watch(running)
                ended = [one.result() for one in running]
            except BaseException as error:
                self._stop.touch()
                if not isinstance(error, Exception) or isinstance(error, NoTimeError):
                    self._machine.stop()  # otherwise the pool waits for its threads
                raise
        return [self._figures(number, one) for number, one in enumerate(ended, 1)]


def one_told(one: dict) -> str:
    return (
        f"{one['turns']} turns, waited {one['waited_seconds']:.1f} s,"
        f" {one['out_bytes'] / 1e9:.2f} GB out at {one['out_gb_per_second']:.2f} GB/s,"
        f" {one['in_bytes'] / 1e9:.2f} GB in at {one['in_gb_per_second']:.2f} GB/s,"
        f" every byte right after {one['rounds']} rounds"
    )


def judge(processes: list[dict]) -> str:
    """Returns the figures as one text. Raises FailedError or NothingShownError."""
    wrong = sum(one.get("wrong_bytes", 0) for one in processes)
    if wrong:
        raise FailedError(f"{wrong} bytes were wrong")
    statuses = [one["exit_status"] for one in processes]
    if statuses != [0] * len(processes):
        shown = ", ".join("none in time" if one is None else str(one) for one in statuses)
        raise FailedError(f"the processes ended with the statuses {shown}")
    if not all("turns" in one and "rounds" in one for one in processes):
        raise NothingShownError("the traces or the programs told no figures")
    if not any(one["out_bytes"] for one in processes):
        raise NothingShownError("no memory moved, so no turn was needed")
    if min(one["turns"] for one in processes) < TURNS:
        turns = " and ".join(str(one["turns"]) for one in processes)
        raise FailedError(f"in the step's time there were only {turns} turns of {TURNS}")
    held = processes[0]["held_bytes"] / processes[0]["total_bytes"]
    seconds = max(one["seconds"] for one in processes)
    both = "; ".join(one_told(one) for one in processes)
    return f"two processes of {held:.0%} of the GPU's memory each, {seconds:.0f} s: {both}"
