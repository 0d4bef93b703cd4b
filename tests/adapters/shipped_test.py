"""Adapters that a package of vramstow brings compiled need no compiler, and are taken if they fit.

They lie beside the adapters' sources, so the test makes an installation of links: the program is
the same file under another name, because it asks the system where it lies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
TORCH = Path(torch.__file__).resolve().parent
DECIDES = "include/c10/core/Allocator.h"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prefix")
    (folder / "bin").mkdir()
    (folder / "lib/vramstow/compiled-adapters").mkdir(parents=True)
    program = BUILD / "bin/vramstow"
    try:
        os.link(program, folder / "bin/vramstow")
    except OSError:  # another file system
        shutil.copy(program, folder / "bin/vramstow")
    (folder / "lib/vramstow/adapters").symlink_to(BUILD / "lib/vramstow/adapters")
    return folder


def build(prefix: Path, *more: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = (prefix / "bin/vramstow", "adapter", "build", "--observer", "--quiet", *more)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def shipped(prefix: Path) -> Path:
    folder = prefix / "lib/vramstow/compiled-adapters"
    made = build(prefix, "--ship", folder, "--torch", TORCH, PATH=os.environ["PATH"])
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip())


def test_it_is_named_by_release_and_abi_and_knows_no_place(shipped: Path) -> None:
    release = torch.__version__.partition("+")[0]
    assert shipped.name.startswith(f"torch-observer-{release}-abi")
    dynamic = subprocess.run(("readelf", "-dW", shipped), capture_output=True, text=True).stdout
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic
    assert "[libc10_cuda.so]" in dynamic


def test_it_is_taken_without_a_compiler_and_without_a_home(prefix: Path, shipped: Path) -> None:
    taken = build(prefix, "--torch", TORCH, PATH="/nowhere")
    assert taken.returncode == 0, taken.stderr
    assert Path(taken.stdout.strip()) == shipped


def test_it_is_not_taken_for_other_headers(prefix: Path, shipped: Path, tmp_path: Path) -> None:
    other = tmp_path / "torch"
    other.mkdir()
    for name in ("lib", "share"):
        (other / name).symlink_to(TORCH / name)
    for header in (TORCH / "include/c10").rglob("*.h"):
        to = other / header.relative_to(TORCH)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.symlink_to(header)
    for name in ("ATen", "torch"):
        (other / "include" / name).symlink_to(TORCH / "include" / name)
    (same := other / DECIDES).unlink()
    shutil.copy(TORCH / DECIDES, same)
    assert build(prefix, "--torch", other, PATH="/nowhere").stdout.strip() == str(shipped)
    same.write_text(same.read_text() + "// another build of the same release\n")
    refused = build(prefix, "--torch", other, PATH="/nowhere", HOME=str(tmp_path))
    assert refused.returncode == 1
    assert "no C++ compiler" in refused.stderr


def test_without_sources_nothing_is_shipped(tmp_path: Path) -> None:
    """An empty library would be compiled of no source at all."""
    (tmp_path / "bin").mkdir()
    shutil.copy(BUILD / "bin/vramstow", tmp_path / "bin/vramstow")
    made = build(tmp_path, "--ship", tmp_path, "--torch", TORCH, PATH=os.environ["PATH"])
    assert made.returncode != 0 and "source is not in" in made.stderr
    assert not list(tmp_path.glob("*.so"))
