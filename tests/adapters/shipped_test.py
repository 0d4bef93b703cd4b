"""Compiled adapters in a package of vramstow need no compiler, and are used if they fit.

They are stored beside the adapters' sources, so the test makes an installation of links. The
program is a hard link, because it finds its folder through the system.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from built import BUILD, Ran, run_program

torch = pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

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
    for within in ("lib", "lib/vramstow"):
        for entry in (BUILD / within).iterdir():
            if not (folder / within / entry.name).exists():
                (folder / within / entry.name).symlink_to(entry)
    return folder


def build(prefix: Path, *more: str | Path, **environment: str) -> Ran:
    command = (prefix / "bin/vramstow", "adapter", "build", "--observer", "--quiet", *more)
    return run_program(*command, env=environment)


@pytest.fixture(scope="module")
def shipped(prefix: Path) -> Path:
    folder = prefix / "lib/vramstow/compiled-adapters"
    made = build(prefix, "--ship", folder, "--torch", TORCH, PATH=os.environ["PATH"])
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip())


def test_it_is_named_by_release_and_abi_and_knows_no_place(shipped: Path) -> None:
    release = torch.__version__.partition("+")[0]
    assert shipped.name.startswith(f"torch-observer-{release}-abi")
    dynamic = run_program("readelf", "-dW", shipped).stdout
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


@pytest.fixture(scope="module")
def allocator(prefix: Path) -> Path:
    """Returns a shipped adapter, compiled again for every copy of the release."""
    folder = prefix / "lib/vramstow/compiled-adapters"
    command = (prefix / "bin/vramstow", "adapter", "build", "--quiet", "--ship", folder)
    made = run_program(*command, "--torch", TORCH)
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip())


def isolated(prefix: Path, folder: Path, *command: str | Path) -> Ran:
    """Runs a job on the pool without any start-up file of Python."""
    rehearsal = (
        prefix / "bin/vramstow",
        "run",
        "--simulate=h200,values=off",
        "--pool=on",
        "--no-trace",
    )
    program = (
        f"import sys; sys.path.append({str(TORCH.parent)!r}); import torch; "
        "print(torch.ones(3, device='cuda').numel())"
    )
    return run_program(
        *(*rehearsal, "--", *command, "-I", "-c", program),
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )


def test_python_without_start_up_files_is_served_by_it(
    prefix: Path, allocator: Path, tmp_path: Path
) -> None:
    """The virtual environment determines the PyTorch; nothing was compiled or requested before."""
    if TORCH.parents[3] != Path(sys.prefix).resolve():
        pytest.skip("PyTorch is not in this environment")
    assert allocator.exists()
    job = isolated(prefix, tmp_path, sys.executable)
    assert (job.returncode, job.stdout) == (0, "3\n"), job.stderr
    assert "not its tensors" not in job.stderr, job.stderr


def test_what_was_asked_for_once_is_known_later(
    prefix: Path, allocator: Path, tmp_path: Path
) -> None:
    """Follows the advice of the message if it is unknown which PyTorch a command will import."""
    hidden = ("env", sys.executable)
    job = isolated(prefix, tmp_path, *hidden)
    assert job.returncode == 0, job.stderr
    [line] = [line for line in job.stderr.splitlines() if "not its tensors" in line]
    assert f"vramstow adapter build --torch '{TORCH}'" in line
    command = (prefix / "bin/vramstow", "adapter")
    home = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    asked = run_program(*command, "build", "--quiet", "--torch", TORCH, env=home)
    assert asked.stdout.strip() == str(allocator), asked.stderr
    job = isolated(prefix, tmp_path, *hidden)
    assert (job.returncode, job.stdout) == (0, "3\n"), job.stderr
    assert "not its tensors" not in job.stderr, job.stderr
    removed = run_program(*command, "remove", env=home)
    assert "removed 0 from" in removed.stdout, removed.stderr
    assert allocator.exists() and not list((tmp_path / ".cache/vramstow").iterdir())


def test_without_sources_nothing_is_shipped(tmp_path: Path) -> None:
    """Without this check an empty library would be compiled."""
    (tmp_path / "bin").mkdir()
    shutil.copy(BUILD / "bin/vramstow", tmp_path / "bin/vramstow")
    made = build(tmp_path, "--ship", tmp_path, "--torch", TORCH, PATH=os.environ["PATH"])
    assert made.returncode != 0 and "source was not found in" in made.stderr
    assert not list(tmp_path.glob("*.so"))
