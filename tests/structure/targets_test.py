"""tests/run --only NAME builds the targets that NAME needs, and nothing else."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import tree

BUILD = Path(os.environ.get("VRAMSTOW_BUILD", tree.ROOT / "build"))
LINES = [
    "pool_test: pool_test",
    "tools_run: product write_trace",
    "structure: ",
    "tidy: product all",
]


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("targets", tree.ROOT / "tests/targets.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("pattern", "targets"),
    [
        ("^pool", ["pool_test"]),
        ("pool|tools_run", ["pool_test", "product", "write_trace"]),
        ("structure", ["build.ninja"]),
        ("pool|tidy", ["all"]),
        ("nothing like it", []),
    ],
)
def test_the_targets_of_the_tests_that_match(
    script: ModuleType, pattern: str, targets: list[str]
) -> None:
    assert script.targets(LINES, pattern) == targets


def test_each_test_of_the_build_has_its_targets() -> None:
    if not (BUILD / "test-targets.txt").exists():
        pytest.skip(f"{BUILD} is not configured")
    lines = (BUILD / "test-targets.txt").read_text().splitlines()
    needs = {name: needed.split() for name, _, needed in (line.partition(":") for line in lines)}
    listing = subprocess.run(
        ["ctest", "--test-dir", BUILD, "-N"], check=True, capture_output=True, text=True
    ).stdout
    tests = [line.split()[-1] for line in listing.splitlines() if line.startswith("  Test ")]
    assert sorted(needs) == sorted(tests)
    assert needs["allocator_pool_test"] == ["allocator_pool_test"]
    assert needs["structure"] == []
    assert {"product", "write_trace"} <= set(needs["tools_run"])
    known = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "targets", "all"], check=True, capture_output=True, text=True
    ).stdout
    known_targets = {line.partition(":")[0] for line in known.splitlines()}
    strangers = {target for needed in needs.values() for target in needed} - known_targets
    assert not strangers
