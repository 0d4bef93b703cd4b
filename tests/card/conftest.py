"""Fixtures for each release of the vendor's driver library, and for the answers that it gives."""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from pathlib import Path

import pytest
import questions
from built import BUILD, VRAMSTOW, run_program
from vendor import HERE, NotToBeHad, Release, fetch, releases

# The answer to one question: results, status numbers, names.
Answer = list[int | str | None]

FUNCTIONS = BUILD / "simulator/driver/driver_functions.def"
SIMULATED = BUILD / "lib/vramstow/simulator/libcuda.so.1"
# A command with all settings that put vramstow in front of a function.
PRELOADED = [
    str(VRAMSTOW), "run", "--no-trace", "--pool=on", "--offload=auto", "--launches=count", "--",
]  # fmt: skip


def functions() -> list[tuple[str, str, int]]:
    """Returns name, exported symbol and version of each function in the newest headers."""
    return questions.functions(FUNCTIONS)


@cache
def folder_of(release: Release) -> Path | str:
    try:
        return fetch(release)
    except NotToBeHad as why:
        return str(why)


@pytest.fixture(params=releases(), ids=lambda release: release.branch)
def release(request: pytest.FixtureRequest) -> Release:
    found = folder_of(request.param)
    if isinstance(found, str):
        pytest.skip(f"driver {request.param.branch}: {found}")
    return request.param


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "VRAMSTOW" not in name}
    kept.pop("LD_PRELOAD", None)
    return kept | more


def ask(question: str, library: Path, *, preloaded: bool = False) -> dict[str, Answer]:
    """Returns this driver library's answers (questions.py), from a separate process."""
    command = [sys.executable, str(HERE / "questions.py"), question, str(library)]
    more = {"VRAMSTOW_FUNCTIONS": str(FUNCTIONS)}
    if library == SIMULATED:
        # With these settings cuInit of the simulated driver finds no device, as on a machine
        # without a GPU.
        more |= {"VRAMSTOW_SIMULATE": "h100", "CUDA_VISIBLE_DEVICES": ""}
    done = run_program(
        *(PRELOADED + command if preloaded else command),
        env=environment(LD_LIBRARY_PATH=str(library.parent), **more),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers: dict[str, Answer] = json.loads(done.stdout)
    return answers


@cache
def told(question: str, release: Release, preloaded: bool = False) -> dict[str, Answer]:
    folder = folder_of(release)
    assert isinstance(folder, Path)
    return ask(question, folder / "libcuda.so.1", preloaded=preloaded)


@cache
def simulated(question: str) -> dict[str, Answer]:
    return ask(question, SIMULATED)
