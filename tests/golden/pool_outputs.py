"""The pool: every driver call and every block's address, in order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import golden

sys.path.insert(0, str(golden.ROOT / "bench"))

import pool_jobs
import pool_traces

THREADED = "*ASubmissionOnItsWay*:*TheGateIsClosed*"
SCENARIOS = golden.ROOT / "tests/allocator/scenarios"


def replay(build: Path, requests: Path) -> str:
    log = requests.with_suffix(".log")
    subprocess.run(
        [build / "tests/pool_replay", "--log", log, requests], check=True, capture_output=True
    )
    return log.read_text()


def jobs(build: Path, folder: Path) -> golden.Outputs:
    for name in pool_jobs.JOBS:
        for seed in (1, 2):
            path = folder / f"{name}-{seed}.requests"
            path.write_text("\n".join(pool_jobs.requests(name, seed)) + "\n")
            yield path.stem, replay(build, path)


def recordings(build: Path, folder: Path) -> golden.Outputs:
    for source in sorted(golden.corpus().glob("*.pickle")):
        for path in pool_traces.convert(source, folder):
            yield path.stem, replay(build, path)


def parts(text: str) -> dict[str, str]:
    """Returns the logs after "== NAME"; several logs of one name are joined."""
    found: dict[str, str] = {}
    for part in text.removeprefix("== ").split("\n== "):
        name, _, log = part.partition("\n")
        found[name] = found.get(name, "") + log + "\n"
    return found


def scenarios(build: Path, _: Path, *options: str) -> golden.Outputs:
    paths = sorted(SCENARIOS.glob("*.scenario"))
    result = subprocess.run(
        [build / "tests/scenario_log", *options, *paths],
        check=True,
        capture_output=True,
        text=True,
    )
    yield from parts(result.stdout).items()


def faults(build: Path, folder: Path) -> golden.Outputs:
    yield from scenarios(build, folder, "--faults")


def offload(build: Path, folder: Path) -> golden.Outputs:
    """Returns the output of the tests of offload and pause that use one thread."""
    environment = {name: text for name, text in os.environ.items() if name != "VRAMSTOW_LONG"}
    for name in ("allocator_offload_test", "allocator_pause_test"):
        log = folder / f"{name}.log"
        subprocess.run(
            [build / "tests" / name, f"--gtest_filter=OffloadTest.*:-{THREADED}"],
            env=environment | {"VRAMSTOW_DRIVER_LOG": str(log)},
            check=True,
            capture_output=True,
        )
        yield from parts(log.read_text()).items()


SECTIONS = {
    "pool-jobs": jobs,
    "pool-recordings": recordings,
    "pool-scenarios": scenarios,
    "pool-faults": faults,
    "pool-offload": offload,
}
