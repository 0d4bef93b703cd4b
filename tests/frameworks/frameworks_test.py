"""The analysis of a framework's job agrees with the values of the job's own objects."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from built import facts_of, run_vramstow
from kinds import EVERY, JOBS, Kind

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

TOLERANCE = 0.1
LEAST_KNOWN = 0.03  # the part of the peak that may be unknown
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def params() -> list[object]:
    return [
        pytest.param(kind, id=kind.name, marks=[] if kind.is_short else [pytest.mark.long])
        for kind in EVERY
    ]


def rehearse(kind: Kind, folder: Path) -> dict[str, int]:
    """Runs the job in the simulator, and returns the values of its objects."""
    missing = [name for name in kind.packages if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: setup/requirements-frameworks.txt")
    options = ["--simulate=h200", "--pool=on", "--stacks=sites", "--trace-dir", str(folder)]
    done = run_vramstow(
        *("run", *options, "--", sys.executable, JOBS / kind.script, *kind.arguments),
        timeout=500,
        cwd=folder,
        env=os.environ | OFFLINE,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def analysis_of(folder: Path) -> dict[str, Any]:
    """Returns the facts of the process that used the GPU: compilers start other processes, without
    GPU memory."""
    return facts_of(folder)


def check_iterations(kind: Kind, facts: dict[str, Any], told: dict[str, int]) -> None:
    found = facts["iterations_found"]
    # If a model is called without gradients, several calls may belong to one evaluation, so the
    # number of iterations is not sure.
    assert found["is_sure"] is kind.trains, found
    assert found["by"] == (kind.by if kind.trains else "forward_passes"), found
    assert found["count"] == told["steps" if kind.trains else "forwards"], found


def check_categories(facts: dict[str, Any], told: dict[str, int]) -> None:
    at_peak = {row["category"]: row["bytes_at_peak"] for row in facts["by_category"]}
    for name in ("parameters", "optimizer_state", "caches"):
        if name in told:
            assert at_peak.get(name, 0) == pytest.approx(told[name], rel=TOLERANCE), name
    # At the peak some gradients may not have been allocated yet.
    assert at_peak.get("gradients", 0) <= told.get("gradients", 0) * (1 + TOLERANCE)
    assert at_peak.get("unknown", 0) <= LEAST_KNOWN * sum(at_peak.values())


def check_places(kind: Kind, facts: dict[str, Any]) -> None:
    sites = [row["site"] for row in facts["by_site"]]
    assert any(kind.place in site for site in sites), sites
    modules = [row["module"] for row in facts["by_module"]]
    assert any(kind.module in module for module in modules), modules


def check_advice(kind: Kind, facts: dict[str, Any]) -> None:
    """Checks the advice: all jobs use less than a hundredth of the GPU, so training jobs always get
    the advice about the batch."""
    advised = [advice["id"] for advice in facts["advice"]]
    assert advised == ["larger_batch"] or (not kind.trains and not advised), advised


@pytest.mark.parametrize("kind", params())
def test_the_analysis_says_what_the_jobs_own_objects_say(kind: Kind, tmp_path: Path) -> None:
    told = rehearse(kind, tmp_path)
    facts = analysis_of(tmp_path)
    check_iterations(kind, facts, told)
    check_categories(facts, told)
    check_places(kind, facts)
    check_advice(kind, facts)


def test_every_job_is_in_the_table() -> None:
    helpers = {"tell.py", "text.py"}
    assert {kind.script for kind in EVERY} == {path.name for path in JOBS.glob("*.py")} - helpers
