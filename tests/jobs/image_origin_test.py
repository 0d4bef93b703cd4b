"""Effects of kernels that are known for one release are applied only in that release."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Rehearsal


@pytest.mark.parametrize(
    ("file", "text", "filled"),
    [
        ("version.py", "__version__ = '2.15.0+cu132'\ndebug = False\n", "3"),
        ("version.py", "from typing import Optional\n\n__version__ = '2.11.0+cu130'\n", "0"),
        ("build-version", "2.15.1\n", "3"),
        ("build-version", "2.9.1+cu130\n", "0"),
        ("version.py", "", "0"),
        ("README", "no release is named", "3"),
    ],
)
def test_a_kernel_of_another_release_does_nothing(
    rehearse: Callable[..., Rehearsal],
    python: str,
    tmp_path: Path,
    file: str,
    text: str,
    filled: str,
) -> None:
    library = tmp_path / "torch/lib/libkernels.so"
    library.parent.mkdir(parents=True)
    (tmp_path / "torch" / file).write_text(text)
    # A fat binary without members; the simulator finds a kernel of any name in it.
    build = ["cc", "-shared", "-x", "c", "-", "-o", library]
    subprocess.run(
        build, input="char image[64] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16};", text=True, check=True
    )
    job = rehearse(python, PROGRAMS / "known_kernel.py", library, card="h200,kernels=list")
    assert job.status == 0, job.err
    assert job.out.strip() == filled
    told = "(only the random numbers of PyTorch 2.15 are known)" in job.err
    assert told == (filled == "0")
