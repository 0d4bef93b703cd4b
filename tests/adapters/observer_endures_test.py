"""The trace has everything that the observer recorded, also if the process is killed, forks, runs
in many threads, or its disk is full; and the job continues as without the observer."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from built import VRAMSTOW, events_of, run_vramstow
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

PROGRAM = Path(__file__).parent / "programs/many_tensors.py"
Rehearse = Callable[..., Rehearsal]
KILLS = 6


def tensors_of(trace: Path) -> dict[str, Counter[int]]:
    """Returns the sizes of the tensors for each kind of event."""
    sizes: dict[str, Counter[int]] = {
        "allocate": Counter(),
        "free": Counter(),
        "free_completed": Counter(),
    }
    for row in events_of(trace):
        if row["call"] == "tensor" and row["kind"] in sizes:
            sizes[row["kind"]][int(row["size"])] += 1
    return sizes


@pytest.mark.long
def test_eight_threads_lose_no_event(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    job = rehearse(python, PROGRAM, "8", "500", env=observed)
    assert job.status == 0, job.err[-4000:]
    assert job.out == "done 0 4000\n"
    (trace,) = job.traces
    seen = tensors_of(trace)
    expected = Counter(
        512 * (1 + number + 8 * (step % 64)) for number in range(8) for step in range(500)
    )
    assert seen == {"allocate": expected, "free": expected, "free_completed": expected}
    assert job.analysis()["input"]["report"]["missing_events"] == 0


@pytest.mark.long
def test_what_was_done_before_a_kill_is_in_the_trace(
    python: str, observed: dict[str, str], tmp_path: Path
) -> None:
    for kill in range(KILLS):
        folder = tmp_path / str(kill)
        folder.mkdir()
        done = folder / "done"
        options = ["--simulate=h200", f"--trace-dir={folder}"]
        with subprocess.Popen(
            [VRAMSTOW, "run", *options, "--", python, PROGRAM, "3", "100000000", done],
            env=os.environ | observed,
            stderr=subprocess.PIPE,
            text=True,
        ) as run:
            while not done.exists() or done.stat().st_size == 0:
                assert run.poll() is None, run.communicate()[1][-4000:]
                time.sleep(0.01)
            time.sleep(0.03 * kill)
            (trace,) = folder.glob("*.stow")
            os.kill(int(trace.stem.rpartition("-")[2]), signal.SIGKILL)
            err = run.communicate(timeout=60)[1]
        assert run.returncode == -signal.SIGKILL, err
        # If the last line has no newline, the process was killed while it wrote this line.
        lines = [line for line in done.read_text().splitlines(keepends=True) if line[-1] == "\n"]
        told = Counter(int(line) for line in lines)
        seen = tensors_of(trace)
        for kind in seen:
            assert not told - seen[kind], f"{kind}: done, but not in the trace"
        assert (seen["allocate"] - told).total() <= 3, "only three threads were running"


FORKS = """
import os, sys
import torch
kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
child = os.fork()
if child == 0:
    try:
        torch.empty(512, device="cuda")
    except RuntimeError as error:
        os._exit(7 if "Cannot re-initialize CUDA in forked subprocess" in str(error) else 1)
    os._exit(2)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
again = torch.empty(2 << 20, dtype=torch.uint8, device="cuda")
"""


def test_a_forked_child_is_told_by_pytorch_and_the_parents_trace_goes_on(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    job = rehearse(python, "-c", FORKS, env=observed)
    assert (job.status, job.out) == (0, "7\n"), job.err[-4000:]
    (trace,) = job.traces
    assert tensors_of(trace)["allocate"] == Counter({1 << 20: 1, 2 << 20: 1})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mounts a separate file system that is large enough for a few chunks of a trace."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "vramstow-test", disk]
    if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        pytest.skip("may not mount a small file system here (needs root)")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_python_whose_lines_cannot_be_read_is_told(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    """Sets the flag of a build without the global lock, which vramstow does not read, as Python
    3.9."""
    program = "import sys; sys.abiflags = 't'; import torch; torch.ones(1 << 20, device='cuda')"
    job = rehearse(python, "-c", program, env=observed)
    assert job.status == 0, job.err[-4000:]
    (trace,) = job.traces
    shown = run_vramstow("analyze", trace, check=True).stdout
    release = f"{sys.version_info[0]}.{sys.version_info[1]}t"
    assert f"those of Python {release}" in shown


OUT_OF_MEMORY = """import torch
for i in range(30000):
    t = torch.empty(256 + i * 7919 % 100000, device="cuda")
kept = []
while True:
    kept.append(torch.empty(20 << 18, device="cuda"))
"""


def test_memory_that_runs_out_after_the_disk_is_told_and_does_not_pass(
    python: str, observed: dict[str, str], small_disk: Path
) -> None:
    options = ["--simulate=h200,memory=256MiB", f"--trace-dir={small_disk}"]
    ran = run_vramstow(
        "run", *options, "--", python, "-c", OUT_OF_MEMORY, env=os.environ | observed, timeout=300
    )
    assert ran.returncode == 1
    assert "memory did not run out up to " in ran.stderr, ran.stderr[-4000:]
    assert "OutOfMemoryError ended the program; the command ended with status 1" in ran.stderr
    (trace,) = small_disk.glob("*.stow")
    shown = run_vramstow("analyze", trace, check=True).stdout
    assert "later events are not known" in shown
    assert "Healthy" not in shown
    check = subprocess.run(
        [VRAMSTOW, "check", trace, "--assert", "out_of_memory == 0"], check=False
    )
    assert check.returncode == 1


def test_a_full_disk_ends_the_trace_and_not_the_job(
    python: str, observed: dict[str, str], small_disk: Path
) -> None:
    options = ["--simulate=h200", f"--trace-dir={small_disk}"]
    ran = run_vramstow(
        "run", *options, "--", python, PROGRAM, "2", "20000", env=os.environ | observed, timeout=300
    )
    assert (ran.returncode, ran.stdout) == (0, "done 0 40000\n"), ran.stderr[-4000:]
    assert "because the disk was full" in ran.stderr, ran.stderr[-4000:]
    (trace,) = small_disk.glob("*.stow")
    assert 1000 < tensors_of(trace)["allocate"].total() < 40000
    listing = run_vramstow("analyze", "--json", trace, check=True)
    report = json.loads(listing.stdout)["input"]["report"]
    assert (report["write_error"], report["dropped_events"] > 0) == (errno.ENOSPC, True), report
