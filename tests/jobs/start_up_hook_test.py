"""Python's start-up hook: a job that loses it gets it back, or a message says first that it is
missing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from built import run_vramstow

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

COMPUTED = "import torch; print((torch.full((3,), 2.0, device='cuda') + 1).sum().item())"


def run_under(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return run_vramstow(
        "run", "--simulate=h200", f"--trace-dir={folder}", "--", *command, timeout=200, check=True
    )


def test_a_job_that_sets_pythonpath_anew_keeps_the_start_up_hook(
    tmp_path: Path, python: str
) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "import os, subprocess, sys\n"
        "os.environ['PYTHONPATH'] = '/nowhere/own'\n"
        "print('own first', flush=True)\n"
        f"raise SystemExit(subprocess.call([sys.executable, '-c', {COMPUTED!r}]))\n"
    )
    done = run_under(tmp_path, python, script)
    assert done.stdout == "own first\n9.0\n"
    # The trace contains the tensors that the child process allocated.
    assert "PyTorch's tensors 1.00 KiB" in done.stderr
    assert "NOT SEEN" not in done.stderr


def test_a_job_without_the_start_up_hook_is_told_first(tmp_path: Path, python: str) -> None:
    done = run_under(tmp_path, python, "-I", "-c", COMPUTED)
    assert done.stdout == "9.0\n"
    lines = done.stderr.splitlines()
    first = next(i for i, line in enumerate(lines) if "PYTORCH WAS NOT SEEN" in line)
    assert "Python was started with -I" in lines[first]
    assert lines[first + 1].startswith("vramstow: SIMULATED RUN")
