"""Runs memory tests of projects whose packages contain none, from a checkout that an environment
variable names: the failing tests are listed with their reasons, and the interposer changes nothing.

Each suite needs VRAMSTOW_PEER_NAME, the checkout, and VRAMSTOW_PEER_NAME_PYTHON, a Python with the
release of the checkout, with pytest and the packages that the suite needs.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from modes import HERE, assert_seen, environment, with_path


@dataclass(frozen=True)
class Suite:
    """`card`: small, because it uses this machine's memory; with limits under which results are
    right. `options`: arguments of the run besides the tests' names."""

    name: str
    folder: str
    tests: tuple[str, ...]
    card: str
    options: tuple[str, ...] = ()
    seconds: int = 3600
    modes: tuple[str, ...] = (
        "plain",
        "traced",
        "pool",
    )  # the second one is traced


PYTORCH_TESTS = (
    "(memory or snapshot or fraction or oom or allocator or caching or MallocAsync or MemPool or "
    "Absorption or graph_capture or graph_record or graph_make or graph_three) and not autocast "
    "and not fuzz"
)
SUITES = [
    Suite(
        "CUDA_CORE",
        "cuda_core/tests",
        ("test_memory.py", "memory", "graph/test_graph_memory_resource.py"),
        "h200,memory=4GiB",
        ("-p", "no:randomly"),
    ),
    # torch_memory_saver preloads a library with hooks. In one run it is preloaded before vramstow's
    # interposer, as its own functions do it, and in another run after it.
    Suite(
        "TORCH_MEMORY_SAVER",
        "test",
        ("test_configure_subprocess.py", "test_examples.py", "test_utils.py"),
        "h200,memory=16GiB",
        modes=("plain", "traced", "pool", "pool behind"),
    ),
    # The tests of PyTorch's own file that concern its allocator; the names are those of release
    # 2.4.
    Suite(
        "PYTORCH",
        "test",
        ("test_cuda.py",),
        "h200,memory=8GiB",
        ("-k", PYTORCH_TESTS, "--timeout=90"),
        modes=("native", "traced", "pool"),
    ),
]


def expected_failures(suite: Suite) -> tuple[list[str], set[str]]:
    """Returns which tests fail, and which may fail, depending on earlier tests."""
    lines = (HERE / f"{suite.name.lower()}_expected.txt").read_text().splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    may = {line.removeprefix("? ") for line in named if line.startswith("? ")}
    return sorted(line for line in named if not line.startswith("? ")), may


def run_suite(suite: Suite, folder: Path, mode: str = "traced") -> dict[str, str]:
    """Returns the outcome of every test by its name: passed, failed or skipped."""
    folder.mkdir()
    outcomes = folder / "outcomes"
    checkout = Path(os.environ[f"VRAMSTOW_PEER_{suite.name}"]) / suite.folder
    behind = mode.endswith(" behind")
    mode = mode.removesuffix(" behind")
    env = with_path(environment(suite.card, mode, folder), HERE)
    options = ["-q", "-p", "no:cacheprovider", "-p", "outcomes_plugin", "--tb=line"]
    if behind:
        options += ["-p", "saver_behind_plugin"]
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
    assert_seen(mode, folder)
    pairs = (line.split(" ", 1) for line in outcomes.read_text().splitlines())
    return {name: outcome for outcome, name in pairs}


def listed_differences(suite: Suite) -> dict[str, str]:
    """Returns the tests whose outcome differs with the pool; the file has the reasons."""
    file = HERE / f"{suite.name.lower()}_pool_differs.txt"
    if not file.exists():
        return {}
    lines = (line for line in file.read_text().splitlines() if line and not line.startswith("#"))
    return {name: outcome for outcome, name in (line.split(" ", 1) for line in lines)}


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name.lower())
def test_what_fails_is_known_and_the_interposer_changes_nothing(
    suite: Suite, tmp_path: Path
) -> None:
    for name in (f"VRAMSTOW_PEER_{suite.name}", f"VRAMSTOW_PEER_{suite.name}_PYTHON"):
        if name not in os.environ:
            pytest.skip(f"{name} is not set: see tests/peers/README.md")
    expected, may_fail = expected_failures(suite)
    runs = {
        mode: {
            name: "either" if name in may_fail else outcome
            for name, outcome in run_suite(suite, tmp_path / mode, mode).items()
        }
        for mode in suite.modes
    }
    traced = runs["traced"]
    assert traced["the session"] == "passed", "it did not come to its end"
    for mode, run in runs.items():
        assert run == traced | (listed_differences(suite) if "pool" in mode else {}), mode
    failed = sorted(name for name, outcome in traced.items() if outcome == "failed")
    assert failed == expected
