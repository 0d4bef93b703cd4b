"""The jobs of unseen/: the first advice names a right cause, its line, the holder of the memory,
and the possible saving."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from unseen.expectations import EVERY, NOT_YET, Unseen

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

ROOT = Path(__file__).resolve().parents[2]
VRAMSTOW = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build")) / "bin/vramstow"

# One job for each form of retention that only a census finds, and one without a holder.
QUICK = ("tenant_models", "fold_trainers", "scan_states", "notebook_cells")
SHORT = [job for job in EVERY if job.name in QUICK]
LONG = [job for job in EVERY if job.name not in QUICK]


def marked(job: Unseen) -> object:
    why = NOT_YET.get(job.name)
    marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
    return pytest.param(job, id=job.name, marks=marks)


def wrong_in(job: Unseen, facts: dict[str, Any]) -> list[str]:
    """Returns the mistakes of the first advice; empty if it is right."""
    if not facts["advice"]:
        return ["nothing is said"]
    first = facts["advice"][0]
    wrong = []
    if first["id"] not in job.accepted():
        wrong.append(f"cause {first['id']}, not {' or '.join(job.accepted())}")
    place = (first["place"] or "").partition(" ")[0]
    # The site is the source line that allocates the memory, or the one that retains it.
    if place not in job.places() and first["kept_at"] not in job.places():
        wrong.append(f"place '{place}'")
    word = job.holder_word()
    if word is not None and word not in (first["holder"] or ""):
        wrong.append(f"holder '{first['holder']}', not {word}")
    said = first["bytes"] / 2**20
    # Lifting a limit saves no memory: the program may use more.
    if job.saves_mib > 0 and abs(said - job.saves_mib) > job.saves_mib / 10:
        wrong.append(f"{said:.0f} MiB, not {job.saves_mib:.0f}")
    return wrong


def facts_of_the_failed(folder: Path) -> dict[str, Any]:
    """Analyses all traces together, and returns the facts of the process that ran out of memory."""
    traces = [path for path in folder.glob("*.stow") if not path.stem.endswith("-oom")]
    command = [VRAMSTOW, "analyze", "--json", *traces]
    listing = subprocess.run(command, capture_output=True, text=True, check=True)
    facts = json.loads(listing.stdout)
    if len(traces) == 1:
        return facts
    (failed,) = [rank for rank in facts["ranks"] if rank["out_of_memory"]]
    return failed


def check(job: Unseen, folder: Path) -> None:
    card = f"--simulate=h200,memory={job.memory_mib}MiB"
    options = [card, "--census=on", "--trace-dir", folder]
    done = subprocess.run(
        [VRAMSTOW, "run", *options, "--", sys.executable, job.script],
        # The expected sizes include 32 MiB for a handle of cuBLAS.
        env=os.environ | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode != 0, "it has to run out of memory"
    facts = facts_of_the_failed(folder)
    assert wrong_in(job, facts) == [], facts["advice"][:1]


@pytest.mark.parametrize("job", [marked(job) for job in SHORT])
def test_a_job_is_explained_rightly(job: Unseen, tmp_path: Path) -> None:
    check(job, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("job", [marked(job) for job in LONG])
def test_each_other_job_is_explained_rightly(job: Unseen, tmp_path: Path) -> None:
    check(job, tmp_path)


def test_every_kind_has_its_causes_and_every_exception_is_a_job() -> None:
    assert not [job.name for job in EVERY if not job.accepted()]
    assert set(NOT_YET) <= {job.name for job in EVERY}
