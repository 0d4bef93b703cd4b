"""Runs setup/wheel in a fresh clone, without .venv and build/: it makes everything that it needs.

It takes minutes with ccache, if CMAKE_CXX_COMPILER_LAUNCHER names it; otherwise half an hour.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
from built import BUILD, ROOT, run_program
from conftest import must

RELEASE = "2.15.0"
KINDS = {"torch", "torch-observer", "torch-values", "torch-census"}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clones the committed files, without results of builds."""
    folder = tmp_path_factory.mktemp("clone") / "vramstow"
    must("git", "clone", "-q", "--no-local", ROOT, folder)
    assert not (folder / ".venv").exists() and not (folder / "build").exists()
    return folder


def make(clone: Path, *options: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs it in the environment of a new user, with this user's compiler cache."""
    kept = ("PATH", "HOME", "LANG", "CUDA_HOME", "CUDA_PATH", "SSL_CERT_FILE")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in kept or name.startswith(("PIP_", "CCACHE_", "CMAKE_")) or "proxy" in name.lower()
    }
    return run_program(
        clone / "setup/wheel", *options, cwd=clone, env=environment | more, stdin=subprocess.DEVNULL
    )


def test_what_cannot_be_had_is_said_before_anything_is_compiled(clone: Path) -> None:
    made = make(clone, "--torch", "2.99.0")
    assert made.returncode == 1, made.stderr
    assert "PyTorch 2.99.0 could not be downloaded" in made.stderr
    assert "--torch none" in made.stderr
    assert not (clone / "build-wheel-product").exists()


@pytest.fixture(scope="module")
def made(clone: Path) -> tuple[Path, str]:
    done = make(clone, "--torch", RELEASE, "--to", clone / "made")
    assert done.returncode == 0, done.stderr[-3000:]
    return Path(done.stdout.strip()), done.stderr


def test_the_wheel_has_all_its_parts(clone: Path, made: tuple[Path, str]) -> None:
    wheel, said = made
    assert wheel.parent == clone / "made" and wheel.name.endswith("manylinux_2_31_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    found = {
        match[1]
        for name in names
        if (match := re.search(rf"compiled-adapters/([a-z-]+)-{re.escape(RELEASE)}-", name))
    }
    assert found == KINDS, found
    pages = "share/doc/vramstow/docs"
    for part in (
        "bin/vramstow",
        "lib/libvramstow.so",
        f"{pages}/run.md",
        f"{pages}/schemas/vramstow.analysis.json",
    ):
        assert f"vramstow/native/{part}" in names
    assert [name for name in names if name.endswith(".dist-info/sboms/vramstow.spdx.json")]
    assert not [name for name in names if "completions" in name]
    # The output shows the progress and the remaining time.
    assert "Building into build-wheel-product/: about" in said, said


def test_a_second_run_compiles_nothing(clone: Path, made: tuple[Path, str]) -> None:
    objects = {
        path: path.stat().st_mtime_ns
        for folder in ("build-wheel-product", "build-wheel-parts/compiled")
        for path in (clone / folder).rglob("*")
        if path.suffix in (".o", ".so")
    }
    assert len(objects) > 100
    begin = time.monotonic()
    again = make(clone, "--torch", RELEASE, "--to", clone / "again")
    assert again.returncode == 0, again.stderr[-3000:]
    assert "Building into" not in again.stderr, again.stderr
    changed = [path for path, when in objects.items() if path.stat().st_mtime_ns != when]
    assert not changed, changed[:5]
    assert time.monotonic() - begin < 300


def test_it_builds_in_a_folder_of_its_own(clone: Path, made: tuple[Path, str]) -> None:
    """What it links needs libraries that the tests of build/ do not expect."""
    assert not (clone / "build").exists()
    program = clone / "build-wheel-product/bin/vramstow"
    assert must(program, "--version") == must(BUILD / "bin/vramstow", "--version")
