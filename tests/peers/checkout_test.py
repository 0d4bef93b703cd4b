"""Memory tests of projects whose packages bring none, from a checkout that an environment variable
names: which fail is known, with its reason, and the interposer changes nothing.

Each suite needs VRAMSTOW_PEER_NAME, the checkout, and VRAMSTOW_PEER_NAME_PYTHON, a Python with the
release that the checkout is of and with pytest and what the suite asks for.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", HERE.parents[1] / "build"))


@dataclass(frozen=True)
class Suite:
    """`card`: small, because memory is this machine's; with limits under which results are right.
    `options`: what its run needs beside the tests' names."""

    name: str
    folder: str
    tests: tuple[str, ...]
    card: str
    options: tuple[str, ...] = ()
    seconds: int = 3600


SUITES = [
    Suite(
        "CUDA_CORE",
        "cuda_core/tests",
        ("test_memory.py", "memory", "graph/test_graph_memory_resource.py"),
        "h200,memory=4GiB",
        ("-p", "no:randomly"),
    ),
]


def expected_failures(suite: Suite) -> list[str]:
    lines = (HERE / f"{suite.name.lower()}_expected.txt").read_text().splitlines()
    return sorted(line for line in lines if line and not line.startswith("#"))


def environment(card: str, interposer: bool, traces: Path, pool: str) -> dict[str, str]:
    """What a rehearsal's environment is, with or without the interposer in LD_PRELOAD."""
    run = [BUILD / "bin/vramstow", "run", f"--simulate={card}", f"--pool={pool}"]
    listed = subprocess.run(
        [*run, "--trace-dir", traces, "--", "env", "-0"], check=True, capture_output=True, text=True
    )
    env = dict(entry.split("=", 1) for entry in listed.stdout.split("\0") if entry)
    if not interposer:
        libraries = env["LD_PRELOAD"].split(":")
        env["LD_PRELOAD"] = ":".join(
            name for name in libraries if not name.endswith("/libvramstow.so")
        )
    return env


def run_suite(
    suite: Suite, folder: Path, interposer: bool = True, pool: str = "off"
) -> dict[str, str]:
    """The outcome of every test by its name: passed, failed or skipped."""
    folder.mkdir()
    outcomes = folder / "outcomes"
    checkout = Path(os.environ[f"VRAMSTOW_PEER_{suite.name}"]) / suite.folder
    env = environment(suite.card, interposer, folder, pool)
    env["PYTHONPATH"] = str(HERE)
    options = ["-q", "-p", "no:cacheprovider", "-p", "outcomes_plugin", "--tb=line"]
    with (folder / "said").open("w") as said:
        subprocess.run(
            [
                os.environ[f"VRAMSTOW_PEER_{suite.name}_PYTHON"],
                *("-m", "pytest", *options, *suite.options),
                *("--outcomes", outcomes, *suite.tests),
            ],
            cwd=checkout,
            env=env,
            stdout=said,
            stderr=subprocess.STDOUT,
            timeout=suite.seconds,
            check=False,
        )
    assert outcomes.exists(), (folder / "said").read_text()[-4000:]
    pairs = (line.split(" ", 1) for line in outcomes.read_text().splitlines())
    return {name: outcome for outcome, name in pairs}


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name.lower())
def test_what_fails_is_known_and_the_interposer_changes_nothing(
    suite: Suite, tmp_path: Path
) -> None:
    for name in (f"VRAMSTOW_PEER_{suite.name}", f"VRAMSTOW_PEER_{suite.name}_PYTHON"):
        if name not in os.environ:
            pytest.skip(f"{name} is not set: see tests/peers/README.md")
    traced = run_suite(suite, tmp_path / "traced")
    assert traced["the session"] == "passed", "it did not come to its end"
    assert run_suite(suite, tmp_path / "plain", interposer=False) == traced
    assert run_suite(suite, tmp_path / "pool", pool="on") == traced
    failed = sorted(name for name, outcome in traced.items() if outcome == "failed")
    assert failed == expected_failures(suite)
