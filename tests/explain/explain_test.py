"""The first advice names why a job ran out of memory, and the line that is to blame."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from expected import EVERY, JOBS, Job

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
VRAMSTOW = BUILD / "bin/vramstow"

SHORT = [job for job in EVERY if job.is_short]
LONG = [job for job in EVERY if not job.is_short]


# What the analysis cannot tell yet, with the reason; the test fails when it can.
NOT_YET = {
    "empty_cache": "events of the pool that gives memory back have no call stack",
    "ensemble": "sets of parameters that one line makes are taken for one set",
}


# Their memory has no tensor, so a census of tensors finds nobody; or an operator of C++ was making
# the tensors and had not yet handed them over.
NO_OBJECT = {"graph_per_shape", "scratch_of_a_library", "momentum"}


def marked(job: Job) -> object:
    why = NOT_YET.get(job.name)
    marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
    return pytest.param(job, id=job.name, marks=marks)


def rehearse(job: Job, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the job on a card that is too small for it."""
    card = f"--simulate=h200,memory={job.memory_mib}MiB,values=off"
    options = [card, "--pool=on", "--stacks=sites", "--census=on", "--trace-dir", str(folder)]
    return subprocess.run(
        [VRAMSTOW, "run", *options, "--", sys.executable, job.script, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def analysis_of(folder: Path) -> dict[str, Any]:
    (trace,) = folder.glob("*.stow")
    listing = subprocess.run(
        [VRAMSTOW, "analyze", "--json", trace], capture_output=True, text=True, check=True
    )
    return json.loads(listing.stdout)


def check(job: Job, folder: Path) -> None:
    done = rehearse(job, folder)
    assert (done.returncode == 0) == job.lives, done.stderr[-2000:]
    facts = analysis_of(folder)
    first = facts["advice"][0]
    assert first["id"] in job.causes(), f"{first['id']}: {first['evidence']}"
    told = first["place"] or ""
    assert told.partition(" ")[0] in job.places(), f"{told}: {first['evidence']}"
    assert job.action in first["action"]
    if job.lives:
        return
    # The story says the same, with what was live and what was lacking.
    story = facts["out_of_memory"][-1]
    assert story["cause"] == first["id"]
    assert story["would_fit"][0]["cause"] == first["id"]
    demand = story["demand"]
    assert sum(row["bytes"] for row in demand["by_category"]) <= demand["live_bytes"]
    assert 0 < demand["lacking_bytes"] <= story["requested_bytes"]
    assert demand["live_bytes"] + demand["outside_bytes"] <= demand["card_bytes"]
    if job.holder is not None and job.name not in NO_OBJECT:
        told = " ".join(row["holder"] for row in story["holders"])
        for name in job.holder.split(", "):
            assert name in told, told
        assert first["holder"] is not None, story["holders"]
    assert first["fits"] is True, f"{first['bytes']} free, {demand['lacking_bytes']} lacking"


@pytest.mark.parametrize("job", [marked(job) for job in SHORT])
def test_the_first_advice_names_the_cause_and_the_place(job: Job, tmp_path: Path) -> None:
    check(job, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("job", [marked(job) for job in LONG])
def test_the_first_advice_names_the_cause_and_the_place_of_others(job: Job, tmp_path: Path) -> None:
    check(job, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("job", EVERY, ids=lambda job: job.name)
def test_the_mended_job_lives(job: Job, tmp_path: Path) -> None:
    done = rehearse(job, tmp_path, "mended")
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_job_is_in_the_table_and_marks_its_lines() -> None:
    assert [job.name for job in EVERY] == sorted(path.stem for path in JOBS.glob("*.py"))
    assert not [job.name for job in EVERY if not job.places()]
    assert len(SHORT) * 4 >= len(EVERY)
