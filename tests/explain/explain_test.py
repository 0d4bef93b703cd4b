"""The first advice names why a job ran out of memory, and the line with the mistake."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from built import Ran, facts_of, run_vramstow
from expected import EVERY, JOBS, Job

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

MIB = 1 << 20
SHORT = [job for job in EVERY if job.is_short]
LONG = [job for job in EVERY if not job.is_short]
POOLED_JOBS = [job for job in EVERY if job.pool]


# Jobs that the analysis cannot explain yet, with the reason. The test of such a job fails as soon
# as the analysis can explain it.
NOT_YET: dict[str, str] = {
    "gradient_norm_graph": "nobody holds gradients that are being made: no holder",
    "tee_batches": "the line that reads, not the one that makes the batches; tee has no name",
    "default_argument": "the fixed program keeps 8 examples, the analysis counts all of them",
    "atexit_report": "a census does not reach what atexit holds",
}


# Jobs whose memory has no tensor, so that a census of tensors finds no holder, or whose tensors
# were still being made by a C++ operator.
NO_OBJECT = {"graph_per_shape", "scratch_of_a_library", "momentum"}


def marked(job: Job) -> object:
    why = NOT_YET.get(job.name)
    marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
    return pytest.param(job, id=job.name, marks=marks)


POOLED = ("--pool=on", "--stacks=sites", "--census=on")
NATIVE = ("--census=on",)


def rehearse(job: Job, folder: Path, *arguments: str, flags: tuple[str, ...] | None = None) -> Ran:
    """Runs the job on a simulated GPU that is too small for it."""
    card = f"--simulate=h200,memory={job.memory_mib}MiB" + (",values=off" if job.pool else "")
    flags = flags if flags is not None else POOLED if job.pool else NATIVE
    return run_vramstow(
        *("run", card, *flags, "--trace-dir", folder, "--", sys.executable, job.script, *arguments),
        # The memory sizes of the jobs include 32 MiB for a handle of cuBLAS.
        env=os.environ | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
        timeout=600,
    )


def analysis_of(folder: Path) -> dict[str, Any]:
    """Returns the facts of the job's process; of several, of the one that ran out of memory."""
    facts = facts_of(*traces_in(folder))
    failed = [rank for rank in facts["ranks"] if rank["out_of_memory"]]
    return failed[0] if failed else facts


def traces_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.stow") if not path.stem.endswith("-oom")]


def check_screen(folder: Path, facts: dict[str, Any], *, lives: bool) -> None:
    """Checks that the text of a job fits on one screen, and begins with the main cause."""
    text = run_vramstow("analyze", *traces_in(folder), check=True).stdout
    assert text.count("\n") <= 40, text
    if not lives:
        words = " ".join(text.split())
        assert f"Because {facts['advice'][0]['title']}" in words, text
        assert f"vramstow help {facts['advice'][0]['id']}" in words, text


# The facts of the jobs that have been run so far.
told_of: dict[str, dict[str, Any]] = {}


def is_near(bytes_: int, others: float) -> bool:
    return abs(bytes_ - others) <= others / 10


# Jobs in which free memory was reserved for CUDA graphs. In a replay this memory serves the failed
# request.
BOUND_TO_GRAPHS = {"graph_per_shape"}


def check_proof(job: Job, facts: dict[str, Any], allocator: str) -> None:
    """Checks that the job dies in an unchanged replay, and that the request is served in a replay
    with the first advice: on this GPU the corrected job lives."""
    story = facts["out_of_memory"][-1]
    unchanged = story["replays"][0]
    assert [row["model"] for row in story["replays"]] == list(
        dict.fromkeys((allocator, "vramstow"))
    )
    assert unchanged["would_serve"] == (job.name in BOUND_TO_GRAPHS)
    changed = facts["advice"][0]["replays"][0]
    assert changed["model"] == allocator
    assert changed["would_serve"] is True
    demand = story["demand"]
    assert changed["peak_allocated_bytes"] <= changed["peak_reserved_bytes"] <= demand["room_bytes"]
    assert demand["room_bytes"] + demand["outside_bytes"] <= demand["card_bytes"]
    assert story["advice_not_replayed"] == 0
    # If a job ran out of memory, no advice recommends a larger batch, and no advice is given that
    # would change nothing.
    told = {advice["id"] for advice in facts["advice"]}
    assert "larger_batch" not in told
    assert job.name in BOUND_TO_GRAPHS or not told & {"cache_larger_than_use", "cache_at_end"}


def check(job: Job, folder: Path, flags: tuple[str, ...] | None = None) -> None:
    done = rehearse(job, folder, flags=flags)
    assert (done.returncode == 0) == job.lives, done.stderr[-2000:]
    facts = analysis_of(folder)
    first = facts["advice"][0]
    assert first["id"] in job.causes(), f"{first['id']}: {first['evidence']}"
    told = (first["place"] or "").partition(" ")[0]
    # The advice names the line that allocates the memory, or the line that keeps a reference to it.
    named = told in job.places() or (not job.pool and first["kept_at"] in job.places())
    assert named, f"{told}: {first['evidence']}"
    assert job.action in first["action"]
    if job.saves_mib:
        assert is_near(first["bytes"], job.saves_mib * MIB), f"{first['bytes'] / MIB} MiB"
    if not job.pool:
        assert job.holder is None or job.holder in (first["holder"] or ""), first["holder"]
        return
    check_screen(folder, facts, lives=job.lives)
    summary = done.stderr.partition("vramstow: ")[2]
    assert ("Because " in summary) == (not job.lives), summary
    if job.lives:
        return
    assert f"[{first['id']}]" in " ".join(summary.split())
    # The facts about the failure name the same cause as the summary, and the live and the lacking
    # bytes.
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
    if job.parameters:
        sizes = {row["name"]: row["bytes"] for row in demand["by_category"]}
        assert is_near(first["bytes"], job.parameters * sizes["parameters"]), demand
    check_proof(job, facts, "vramstow" if flags is None else "native")
    if flags is None:
        told_of[job.name] = facts


@pytest.mark.parametrize("job", [marked(job) for job in SHORT])
def test_the_first_advice_names_the_cause_and_the_place(job: Job, tmp_path: Path) -> None:
    check(job, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("job", [marked(job) for job in LONG])
def test_the_first_advice_names_the_cause_and_the_place_of_others(job: Job, tmp_path: Path) -> None:
    check(job, tmp_path)


@pytest.fixture(scope="session")
def compiled() -> None:
    """Returns an environment as a user has it after the first run: the census is compiled, and
    found by default."""
    torch = Path(sys.modules["torch"].__file__ or "").resolve().parent
    for kind in ("--observer", "--census"):
        run_vramstow("adapter", "build", kind, "--torch", torch, check=True)


# One job for each way in which a cause is found: by the holder, by sizes, by types, by the request,
# by driver calls.
QUICK = ("carried_state", "first_step", "data_on_card", "all_pairs", "retry")


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", QUICK)
def test_without_any_flag_the_cause_and_the_place_are_named(name: str, tmp_path: Path) -> None:
    (job,) = [job for job in EVERY if job.name == name]
    check(job, tmp_path, flags=())


def first_advice(job: Job, folder: Path) -> tuple[str, str]:
    """Returns the cause and the line that are reported without any options."""
    folder.mkdir()
    rehearse(job, folder, flags=())
    advice = analysis_of(folder)["advice"]
    if not advice:
        return "", ""
    return advice[0]["id"], (advice[0]["place"] or "").partition(" ")[0]


LEAST_CAUSES = 29
LEAST_PLACES = 29


@pytest.mark.long
@pytest.mark.usefixtures("compiled")
def test_without_any_flag_nearly_all_causes_and_places_are_named(tmp_path: Path) -> None:
    jobs = POOLED_JOBS
    told = {job.name: first_advice(job, tmp_path / job.name) for job in jobs}
    others = [job.name for job in jobs if told[job.name][0] not in job.causes()]
    elsewhere = [
        job.name for job in jobs if job.name not in others and told[job.name][1] not in job.places()
    ]
    summary = f"other causes: {[(name, *told[name]) for name in others]}, elsewhere: {elsewhere}"
    print(summary)
    assert len(jobs) - len(others) >= LEAST_CAUSES, summary
    assert len(jobs) - len(others) - len(elsewhere) >= LEAST_PLACES, summary


@pytest.mark.long
@pytest.mark.parametrize("job", POOLED_JOBS, ids=lambda job: job.name)
def test_the_mended_job_lives_and_saves_what_was_said(job: Job, tmp_path: Path) -> None:
    done = rehearse(job, tmp_path, "mended")
    assert done.returncode == 0, done.stderr[-2000:]
    if not job.shows_saving:
        return
    if job.name not in told_of:
        (tmp_path / "failing").mkdir()
        rehearse(job, tmp_path / "failing")
        told_of[job.name] = analysis_of(tmp_path / "failing")
    story = told_of[job.name]["out_of_memory"][-1]
    demand = story["demand"]["live_bytes"] + story["requested_bytes"]
    saved = demand - analysis_of(tmp_path)["peak"]["allocated_bytes"]
    first = told_of[job.name]["advice"][0]
    said = f"said {first['bytes'] >> 20} MiB, saved {saved >> 20} MiB"
    assert is_near(first["bytes"], saved), said
    assert is_near(first["replayed_bytes"], saved), said


def test_every_job_is_in_the_table_and_marks_its_lines() -> None:
    assert [job.name for job in EVERY] == sorted(path.stem for path in JOBS.glob("*.py"))
    assert not [job.name for job in EVERY if not job.places()]
    assert len(SHORT) * 6 >= len(EVERY)
    assert set(NOT_YET) <= {job.name for job in EVERY}
