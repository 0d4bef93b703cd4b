"""Tests vramstow share: jobs that share one GPU in turns, on a simulated GPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built import ROOT, VRAMSTOW, Ran, run_vramstow

PROGRAM = ROOT / "tests/jobs/programs/shares.py"
SPEC = "h100,memory=128MiB,context=16MiB"
PATIENCE = int(os.environ.get("VRAMSTOW_PATIENCE", 240))  # seconds, on a busy machine


def job(mebibytes: int, rounds: int, seed: int) -> str:
    return f"{sys.executable} {PROGRAM} {mebibytes} {rounds} {seed}"


def in_the_mix(there: str, alone: str) -> str:
    """Returns a job that runs one command in the mix and another one alone."""
    return f'case "$VRAMSTOW_SHARE" in *mix.turns*) {there};; *) {alone};; esac'


def lasting_job(ended: Path) -> str:
    """Returns a job that in the mix makes rounds until the file is there."""
    until = f"(while [ ! -e {ended} ]; do echo go; sleep 0.1; done; echo end)"
    return in_the_mix(f"{until} | {job(80, 100000, 1)} 0 0", job(80, 3, 1))


def job_beside(output: Path, ended: Path) -> str:
    """Returns a job that in the mix waits for the first line of another, and writes the file."""
    begun = f"until [ -s {output} ]; do sleep 0.01; done"
    there = f"{begun}; {job(80, 10, 2)}; status=$?; touch {ended}; exit $status"
    return in_the_mix(there, job(80, 3, 2))


def share(*arguments: str, spec: str = SPEC) -> Ran:
    return run_vramstow("share", f"--simulate={spec}", *arguments, timeout=2 * PATIENCE)


def told(result: Ran) -> dict[str, Any]:
    """Returns the JSON, which is one line and all of standard output."""
    assert result.stdout.count("\n") == 1, result.stdout + result.stderr
    return json.loads(result.stdout)


def test_jobs_that_do_not_fit_together_take_turns(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    ended = tmp_path / "ended"
    first, second = lasting_job(ended), job_beside(kept / "mix-1/output.txt", ended)
    result = share(f"--keep={kept}", "--json", "--", first, second)
    assert result.returncode == 0, result.stdout + result.stderr
    mix = told(result)
    assert mix["schema"] == {"name": "vramstow.share", "version": 1}
    assert mix["room_bytes"] == (128 - 2 * 16 - 2) << 20
    assert (mix["card"], mix["total_bytes"], mix["interrupted"]) == (SPEC, 128 << 20, False)
    for each in mix["jobs"]:
        alone, mixed = each["alone"], each["mix"]
        assert alone["status"] == mixed["status"] == 0
        assert alone["fits"] and mixed["fits"]
        assert alone["peak_bytes"] == 80 << 20
        assert alone["seconds"] > 0
        assert 0 <= mixed["waited_seconds"] < mixed["seconds"]
        assert "turns" not in alone
    assert sum(each["mix"]["turns"] for each in mix["jobs"]) > 0
    assert sum(each["mix"]["out_bytes"] for each in mix["jobs"]) > 0
    assert sum(each["mix"]["waited_seconds"] for each in mix["jobs"]) > 0
    alone = [each["alone"]["seconds"] for each in mix["jobs"]]
    assert mix["alone_seconds"] == pytest.approx(sum(alone))
    assert mix["longest_seconds"] == max(alone)
    assert mix["makespan_seconds"] == max(each["mix"]["seconds"] for each in mix["jobs"])
    for run in ("alone-1", "alone-2", "mix-1", "mix-2"):
        assert "all bytes right" in (kept / run / "output.txt").read_text()
        assert len(list((kept / run / "traces").glob("*.stow"))) == 1
    again = share(f"--keep={kept}", "--", job(8, 1, 1), job(8, 1, 2))
    assert again.returncode == 2
    assert "alone-1: it is there already" in again.stderr


def test_jobs_that_fit_together_need_no_turn() -> None:
    result = share("--", job(40, 2, 1), f"SEED=2; {job(40, 2, 2)[:-1]}$SEED")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "All memory fits together: no job waits" in result.stdout
    assert "round" not in result.stdout + result.stderr, "what a job prints goes to a file"
    first, second = (line.split() for line in result.stdout.splitlines()[2:4])
    assert (first[0], second[0]) == ("1", "2")
    for row in (first, second):
        assert row[-7:] == ["0", "ns", "0", "0", "B", "0", "B"]
    assert "all at once (makespan)" in result.stdout
    assert result.stderr.count("vramstow share: job ") == 4


def test_a_job_that_fails_is_shown_with_the_end_of_its_output() -> None:
    failing = "echo first; echo the disk is full >&2; exit 7"
    result = share("--", failing, job(8, 1, 1))
    assert result.returncode == 1
    assert "Job 1 alone: it failed with exit status 7.\n" in result.stdout
    assert "The end of its output:\n  first\n  the disk is full\n" in result.stdout
    assert "The mix did not run, because not every job ran alone." in result.stdout
    mix = told(share("--json", "--", failing, "/"))
    assert [each["alone"]["status"] for each in mix["jobs"]] == [7, 126]
    assert [each["mix"] for each in mix["jobs"]] == [None, None]
    assert mix["makespan_seconds"] is None
    assert mix["jobs"][0]["alone"]["last_lines"] == ["first", "the disk is full"]
    assert mix["jobs"][1]["alone"]["problem"] == "cannot run '/': Permission denied."


def test_a_job_that_fails_in_the_mix_alone_is_shown_too(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    once = f"{job(8, 1, 1)}; test ! -e {ran} || exit 9; touch {ran}"
    result = share("--json", "--", once, job(8, 1, 2))
    assert result.returncode == 1
    first, second = told(result)["jobs"]
    assert (first["alone"]["status"], first["mix"]["status"]) == (0, 9)
    assert (second["alone"]["status"], second["mix"]["status"]) == (0, 0)
    assert told(result)["makespan_seconds"] is None


def test_a_job_that_is_too_large_is_told_apart() -> None:
    result = share("--", job(200, 1, 1), job(8, 1, 2))
    assert result.returncode == 1
    assert "Job 1 does not fit: alone it needs more than 128 MiB" in result.stdout
    assert f"vramstow fit --once --simulate={SPEC} --" in result.stdout
    too_large, small = told(share("--json", "--", job(200, 1, 1), job(8, 1, 2)))["jobs"]
    assert (too_large["alone"]["fits"], small["alone"]["fits"]) == (False, True)


def test_a_job_without_memory_of_the_gpu_is_told_as_such() -> None:
    result = share("--", "true", job(8, 1, 2))
    assert result.returncode == 1
    assert "Job 1 alone: it used no GPU memory, so it cannot share the GPU:" in result.stdout


def test_a_job_whose_process_runs_on_is_told_as_such() -> None:
    lasting = f"sh -c '{job(8, 1, 1)} && {sys.executable} -c \"import time; time.sleep(20)\" &'"
    result = share("--", lasting, job(8, 1, 2))
    assert result.returncode == 1
    assert "one of its processes still runs after the command has ended" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--simulate=h100", "--", "true"), "a mix has 2 to 64 jobs, and not 1"),
        (("--simulate=h100", "--", "sh", "a.py", "--steps"), "job 2 is 'a.py', and there is no"),
        (("--simulate=h100", "--", "sh", "/no/b x"), "job 2 is '/no/b x', and there is no such"),
        (("--simulate=h100", "--", "true", " "), "job 2 is empty"),
        (("--simulate=nocard", "--", "true", "true"), "nocard"),
        (("--simulate=h100,share=x", "--", "true", "true"), "'share=x' cannot be used here"),
        (("--simulate=h100,count=2", "--", "true", "true"), "'count=2' cannot be used here"),
        (("--simulate=h100,clock=real", "--", "true", "true"), "'clock=real' has no effect here"),
        (("--", "true", "true"), "--simulate is required"),
        (("--simulate=h100", "--keeep=x", "--", "true", "true"), "did you mean --keep?"),
    ],
)
def test_wrong_arguments_get_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    result = run_vramstow("share", *arguments, timeout=PATIENCE)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert said in result.stderr


# This job starts a child and sleeps at its end, from the given run on. It writes the process ids of
# both to a file.
SLOW = """
import os, subprocess, sys, time
began, slow_from = sys.argv[1], int(sys.argv[2])
with open(began + ".runs", "a+") as file:
    file.write("x")
    number = file.tell()
sys.path.insert(0, {folder!r})
sys.argv[1:] = ["8", "1", "1"]
import shares
shares.main()
if number >= slow_from:
    child = subprocess.Popen(["sleep", "600"])
    with open(began + ".tmp", "w") as file:
        file.write(f"{{os.getpid()}} {{child.pid}}")
    os.rename(began + ".tmp", began)
    time.sleep(600)
"""


def runs(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(is_true: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not is_true() and time.monotonic() < end:
        time.sleep(0.05)
    assert is_true()


@pytest.mark.parametrize(
    ("slow_from", "number"), [(1, signal.SIGINT), (2, signal.SIGINT), (2, signal.SIGTERM)]
)
def test_a_signal_ends_all_jobs_and_leaves_nothing(
    tmp_path: Path, slow_from: int, number: int
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = tmp_path / "slow.py"
    program.write_text(SLOW.format(folder=str(PROGRAM.parent)))
    began = [tmp_path / "began1", tmp_path / "began2"]
    jobs = [f"{sys.executable} {program} {path} {slow_from}" for path in began]
    process = subprocess.Popen(
        [VRAMSTOW, "share", f"--simulate={SPEC}", "--", *jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
        start_new_session=True,
    )
    at_once = began if slow_from == 2 else began[:1]
    wait_until(lambda: all(path.exists() for path in at_once), PATIENCE)
    children = [int(word) for path in at_once for word in path.read_text().split()]
    assert all(map(runs, children))
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number, err
    assert list(temporary.iterdir()) == []
    wait_until(lambda: not any(map(runs, children)), 10)
    if slow_from == 1:
        assert out == ""
        assert err.endswith("vramstow share: interrupted before there was a result.\n")
    else:
        assert out.startswith("Interrupted; these are the results so far.\n")
        assert "one after the other" in out
