"""Fixtures of the job tests: the built program, and simulated runs with traces and call logs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from built import ROOT, VRAMSTOW, Ran, facts_of, run_vramstow
from call_log import differences, read_call_log, read_trace
from sharers import CARD, PROGRAM, Share, Sharer

EXAMPLES = ROOT / "examples"

PROGRAMS = ROOT / "tests/jobs/programs"
# The way in which the simulated runtime creates its contexts (primary= in the SPEC); if it is not
# set, the SPEC decides.
PRIMARY = "VRAMSTOW_TEST_PRIMARY"


@dataclass
class Rehearsal:
    """A command that ran under `vramstow run --simulate`, and the files that it left."""

    status: int
    out: str
    err: str
    traces: list[Path]
    call_logs: list[Path]

    def analysis(self) -> dict[str, Any]:
        return facts_of(*self.traces)

    def replay(self, *arguments: str) -> Ran:
        """Returns the output of `vramstow replay --json` for the only trace."""
        (trace,) = self.traces
        return run_vramstow("replay", "--json", trace, *arguments)

    def report(self) -> str:
        listing = run_vramstow("analyze", *self.traces, check=True)
        return listing.stdout

    def assert_well(self, steps: int) -> None:
        """Checks that the job made its steps, and that its trace is complete and right."""
        assert self.status == 0, self.err[-4000:]
        seen = [line for line in self.out.splitlines() if line.startswith("step ")]
        assert len(seen) == steps, self.out[-2000:]
        compared = self.assert_trace_equals_call_log()
        analysis = self.analysis()
        assert self.calls_of_the_driver(analysis) <= compared
        assert analysis["peak"]["allocated_bytes"] > 0
        assert analysis["input"]["report"]["missing_events"] == 0

    @staticmethod
    def calls_of_the_driver(analysis: dict[str, Any]) -> int:
        """Returns how many allocations and frees are no tensors, which the driver does not see."""
        return sum(
            row["allocations"] + row["frees"]
            for row in analysis["by_call"]
            if row["call"] != "tensor"
        )

    def assert_trace_equals_call_log(self) -> int:
        """Compares every process's trace with its call log; returns the number of steps."""
        by_process = {path.stem.rpartition("-")[2]: path for path in self.call_logs}
        compared = 0
        for trace in self.traces:
            witnessed = read_call_log(by_process.pop(trace.stem.rpartition("-")[2]))
            found = differences(witnessed, read_trace(VRAMSTOW, trace))
            assert not found, f"{trace.name}: {len(found)} differ:\n" + "\n".join(found[:20])
            compared += len(witnessed)
        untraced = [path.name for path in by_process.values() if read_call_log(path)]
        assert not untraced, f"processes with a call log and no trace: {untraced}"
        assert compared, "the call logs are empty: nothing was compared"
        return compared


@pytest.fixture
def rehearse(tmp_path: Path) -> Callable[..., Rehearsal]:
    def run(
        *command: str | Path,
        card: str = "h200",
        env: dict[str, str] | None = None,
        timeout: int = 300,
    ) -> Rehearsal:
        if PRIMARY in os.environ:
            card += f",primary={os.environ[PRIMARY]}"
        simulate = f"--simulate={card},call-log={tmp_path}/call-log-%p.csv"

        result = run_vramstow(
            *("run", simulate, "--trace-dir", tmp_path, "--", *command),
            timeout=timeout,
            env=os.environ | (env or {}),
        )
        traces = sorted(tmp_path.glob("*.stow"))
        call_logs = sorted(tmp_path.glob("call-log-*.csv"))
        return Rehearsal(result.returncode, result.stdout, result.stderr, traces, call_logs)

    return run


MODES = ["on", "off"]
if os.environ.get("VRAMSTOW_LONG"):
    MODES.append("on with unseen contexts")


@pytest.fixture(params=MODES)
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs each test that uses it twice: with the pool behind cuMemAlloc, and without; in the long
    suite also with a runtime that creates its contexts past every hook."""
    mode, _, unseen = request.param.partition(" ")
    monkeypatch.setenv("VRAMSTOW_POOL", mode)
    monkeypatch.setenv("VRAMSTOW_CHECK", "1")
    if unseen:
        monkeypatch.setenv(PRIMARY, "private")
    return mode


@pytest.fixture
def python() -> str:
    """Returns the Python whose PyTorch the jobs use: this one, or another version's."""
    return os.environ.get("VRAMSTOW_TEST_PYTHON", sys.executable)


@pytest.fixture
def share(tmp_path: Path) -> Iterator[Share]:
    """Starts programs/shares.py with these arguments; all of one test share a simulated GPU."""
    started: list[Sharer] = []

    def run(
        *arguments: object,
        more: str = "",
        card: str = CARD,
        program: Path | str = PROGRAM,
        flags: tuple[str, ...] = (),
    ) -> Sharer:
        sharer = Sharer(tmp_path, len(started), [program, *arguments], more, card, flags)
        started.append(sharer)
        return sharer

    yield run
    for sharer in started:
        sharer.kill()
