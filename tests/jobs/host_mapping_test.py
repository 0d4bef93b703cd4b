"""vramstow tries once in a child whether host memory can be mapped, and tells the job."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Rehearsal

Rehearse = Callable[..., Rehearsal]
POOL = {"VRAMSTOW_POOL": "on", "VRAMSTOW_CHECK": "1"}
TELLS = "import os; print(os.environ.get('VRAMSTOW_HOST_MAPPING'))"
ANY = r"GPU-[0-9a-f-]{36}"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    offload = {"VRAMSTOW_OFFLOAD": "explicit,host=1GiB"}
    return POOL | offload | {"XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.mark.parametrize(
    ("card", "answer"),
    [
        ("h200", "host"),
        ("h200,values=off,contents=discard", "host"),
        ("h200,without=host", "node:0"),
        ("h200,cuda=12.4", "node:0"),
        ("h200,without=host,without=host-numa", "no:cuMemCreate gave CUDA_ERROR_INVALID_VALUE"),
        ("h200,without=host-vmm", "no:the driver does not support such memory"),
        ("h200,fail=cuMemMap:2:304", "node:0"),
        ("h200,fail=cuMemMap:2+:304", "no:cuMemMap gave CUDA_ERROR_OPERATING_SYSTEM"),
        ("h200,fail=cuModuleLoadData:1:222", "no:cuModuleLoadData gave CUDA_ERROR_UNSUPPORTED"),
        ("h200,cuda=12.4,host-numa=crash:1", "no:a process that tested it was ended by signal 11"),
    ],
)
def test_a_job_is_told_where_host_memory_can_be_mapped(
    rehearse: Rehearse, env: dict[str, str], card: str, answer: str
) -> None:
    job = rehearse(sys.executable, "-c", TELLS, card=card, env=env)
    assert job.status == 0, job.err[-2000:]
    assert re.match(f"{ANY}={re.escape(answer)}", job.out), job.out


def test_nothing_is_tried_where_nothing_is_to_move(rehearse: Rehearse, env: dict[str, str]) -> None:
    job = rehearse(sys.executable, "-c", TELLS, env=env | {"VRAMSTOW_OFFLOAD": "off"})
    assert job.out == "None\n"


def test_a_driver_that_crashes_does_so_beside_the_job(
    rehearse: Rehearse, python: str, env: dict[str, str]
) -> None:
    card = "h200,cuda=12.4,host-numa=crash:1"
    job = rehearse(python, PROGRAMS / "plain_block.py", card=card, env=env)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]
    said = "a process that tested it was ended by signal 11"
    assert (
        f"--offload moves no memory by itself: the device cannot map host memory ({said}" in job.err
    )
    (line,) = [line for line in job.err.splitlines() if "no memory was moved by itself" in line]
    assert "because the device cannot map host memory" in line and said in line


def test_one_device_that_crashes_costs_the_others_nothing(
    rehearse: Rehearse, env: dict[str, str]
) -> None:
    # The second creation of host memory crashes the child process that makes it. Each child makes
    # at least one.
    card = "h200,cuda=12.4,count=3,host-numa=crash:2"
    job = rehearse(sys.executable, "-c", TELLS, card=card, env=env)
    answers = [entry.split("=", 1)[1] for entry in job.out.strip().split(";")]
    assert [answer.split(" ")[0] for answer in answers] == ["node:0", "no:a", "node:0"], job.out


def test_what_was_found_out_is_remembered(
    rehearse: Rehearse, env: dict[str, str], tmp_path: Path
) -> None:
    card = "h200,cuda=12.4,host-numa=crash:1"
    first = rehearse(sys.executable, "-c", TELLS, card=card, env=env)
    (memory,) = (tmp_path / "cache/vramstow").glob("host-mapping*")
    text = memory.read_text()
    assert text.split(" ", 1)[1] == first.out
    memory.write_text(text.replace("was ended", "was remembered to be ended"))
    again = rehearse(sys.executable, "-c", TELLS, card=card, env=env)
    assert "was remembered to be ended" in again.out
    other = rehearse(sys.executable, "-c", TELLS, card="h200", env=env)
    assert "remembered" not in other.out


def test_what_need_not_last_is_not_remembered(
    rehearse: Rehearse, env: dict[str, str], tmp_path: Path
) -> None:
    job = rehearse(sys.executable, "-c", TELLS, card="h200,fail=cuMemCreate:1+", env=env)
    assert "no:cuMemCreate gave CUDA_ERROR_OUT_OF_MEMORY" in job.out
    assert not list((tmp_path / "cache").rglob("host-mapping*"))


def test_a_job_that_nobody_told_maps_none(
    rehearse: Rehearse, python: str, env: dict[str, str]
) -> None:
    forget = ("env", "-u", "VRAMSTOW_HOST_MAPPING")
    job = rehearse(*forget, python, PROGRAMS / "plain_block.py", env=env)
    assert (job.status, job.out) == (0, "done\n"), job.err[-3000:]
    assert "it was not tested whether the device can map host memory" in job.err
