"""Checks results of Triton's kernels in a simulated run, of torch.compile and of programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel")
Rehearse = Callable[..., Rehearsal]
QUICK = ["layer_norm", "bfloat16", "argmax", "cross_entropy", "scatter"]


def wrong(job: Rehearsal) -> list[str]:
    assert job.status == 0, job.err[-3000:]
    assert "without effect" not in job.err, job.err[-3000:]
    return [line for line in job.out.splitlines() if not line.endswith(" right")]


def caches(folder: Path) -> dict[str, str]:
    return {
        "TRITON_CACHE_DIR": str(folder / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
    }


@pytest.mark.parametrize("card", ["h200", "a100"])
def test_kernels_of_a_program_give_what_the_cpu_gives(
    rehearse: Rehearse, python: str, tmp_path: Path, card: str
) -> None:
    program = PROGRAMS / "triton_kernels.py"
    job = rehearse(python, program, card=f"{card},kernels=list", env=caches(tmp_path))
    assert wrong(job) == [] and len(job.out.splitlines()) == 8


def test_what_torch_compile_makes_gives_what_the_cpu_gives(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    chosen = [] if os.environ.get("VRAMSTOW_LONG") else QUICK
    program = PROGRAMS / "compiled_values.py"
    job = rehearse(python, program, *chosen, card="h200,kernels=list", env=caches(tmp_path))
    assert wrong(job) == [] and len(job.out.splitlines()) == (len(chosen) or 36)


def test_products_of_warpgroups_give_what_the_cpu_gives(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    program = PROGRAMS / "triton_products.py"
    job = rehearse(python, program, card="h200,kernels=list", env=caches(tmp_path))
    assert wrong(job) == [] and len(job.out.splitlines()) == 13
    assert all(" by warpgroups " in line for line in job.out.splitlines())


def test_what_is_launched_to_see_how_long_it_takes_is_not_computed(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    chosen = ["compiled"] if os.environ.get("VRAMSTOW_LONG") else []
    program = PROGRAMS / "triton_trials.py"
    job = rehearse(python, program, *chosen, card="h200,kernels=list", env=caches(tmp_path))
    assert wrong(job) == [] and len(job.out.splitlines()) == 3 + len(chosen)
    assert all(" computed 1 times " in line for line in job.out.splitlines())


def test_with_values_off_nothing_is_run(rehearse: Rehearse, python: str, tmp_path: Path) -> None:
    program = PROGRAMS / "compiled_values.py"
    job = rehearse(python, program, "gelu", card="h200,values=off", env=caches(tmp_path))
    assert (job.status, job.out) == (0, "gelu wrong\n"), job.err[-3000:]
