"""JAX in a simulated run: before it loads CUDA it looks for a GPU's device file, which is missing.

A package of the same form replaces JAX: only its search, and its next calls, matter here.
tests/frameworks/clients/jax_job.py is a job of JAX itself.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from built import run_vramstow

LOOKS = (
    "import os\n"
    "FILES = ['/dev/nvidia0', '/dev/nvidiactl']\n"
    "def has_visible_nvidia_gpu():\n"
    "    return any(map(os.path.exists, FILES))\n"
)
JOB = (
    "import os\n"
    "from jax._src import hardware_utils\n"
    "print(hardware_utils.has_visible_nvidia_gpu(), os.environ.get('XLA_FLAGS'))\n"
)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    package = tmp_path / "jax/_src"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "hardware_utils.py").write_text(LOOKS)
    file = tmp_path / "job.py"
    file.write_text(JOB)
    return file


def printed(job: Path, python: str, *flags: str, **env: str) -> str:
    done = run_vramstow(
        *("run", "--no-trace", *flags, "--", python, job),
        env={key: value for key, value in os.environ.items() if key != "XLA_FLAGS"} | env,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_it_sees_the_simulated_card_and_times_nothing_on_it(job: Path, python: str) -> None:
    assert printed(job, python, "--simulate=h200") == "True --xla_gpu_autotune_level=0\n"


def test_the_users_own_flags_come_last_because_xla_takes_the_last(job: Path, python: str) -> None:
    own = "--xla_gpu_autotune_level=4"
    told = printed(job, python, "--simulate=h200", XLA_FLAGS=own)
    assert told == f"True --xla_gpu_autotune_level=0 {own}\n"
