"""Builds the wheel as a user does, and installs it into an otherwise empty environment."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
from built import ROOT, Ran, run_program
from conftest import PROGRAMS

pytestmark = pytest.mark.long


def clean_environment() -> dict[str, str]:
    unwanted = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_PRELOAD", "LD_LIBRARY_PATH")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in unwanted and not name.startswith("VRAMSTOW_")
    }


def run(*command: str | Path, cwd: Path, **more: str) -> Ran:
    done = run_program(*command, cwd=cwd, env=clean_environment() | more)
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ready = os.environ.get("VRAMSTOW_TEST_WHEEL")
    if ready is not None:
        return Path(ready)
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "-w", folder, cwd=ROOT)
    (found,) = folder.glob("vramstow-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the bin folder of a new environment with the wheel and pytest, without torch."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    bin_folder = folder / "venv/bin"
    pins = [
        line
        for line in (ROOT / "setup/requirements-quick.txt").read_text().splitlines()
        if line and not line.startswith(("#", "axe", "ruff"))
    ]
    run(bin_folder / "pip", "install", "-q", wheel, *pins, cwd=folder)
    return bin_folder


def test_the_wheel_has_program_libraries_simulator_and_types(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "vramstow/py.typed",
        "vramstow/native/bin/vramstow",
        "vramstow/native/lib/libvramstow.so",
        "vramstow/native/lib/libvramstow-core.so",
        "vramstow/native/lib/vramstow/simulator/libcuda.so.1",
        "vramstow/native/lib/vramstow/simulator/libnvidia-ml.so.1",
        "vramstow/native/lib/vramstow/simulator/libcudart.so.13",
        "vramstow/native/lib/vramstow/python/sitecustomize.py",
        "vramstow/native/lib/vramstow/python/vramstow_start/hook.py",
        "vramstow/native/lib/vramstow/python/vramstow_start/modules.py",
        "vramstow/native/lib/vramstow/python/vramstow_start/at_exit.py",
        "vramstow/native/lib/vramstow/python/vramstow_start/trials.py",
        "vramstow/native/lib/vramstow/python/vramstow_start/triton_ptx.py",
        "vramstow/native/lib/vramstow/adapters/adapters/torch/adapter.h",
    ):
        assert wanted in names, wanted
    assert not [name for name in names if ".venv" in name or name.startswith("build")]


def test_it_says_its_version_and_rehearses(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "vramstow", "--version", cwd=tmp_path)
    assert re.fullmatch(r"vramstow 0\.1\.0 \(commit (\w+), RelWithDebInfo\)\n", done.stdout)
    program = "import device, vramstow; device.allocate(5 << 20); print(vramstow.stats())"
    done = run(
        installed / "vramstow",
        *("run", "--simulate=h200", "--pool=on", "--", installed / "python", "-c", program),
        cwd=tmp_path,
        PYTHONPATH=str(PROGRAMS),
    )
    assert "allocated_bytes=5242880" in done.stdout
    assert "SIMULATED RUN" in done.stderr
    assert list(tmp_path.glob("*.stow"))


def test_the_plug_in_is_there_by_itself_and_passes_its_tests(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest, device\n"
        "@pytest.mark.gpu_memory(peak='2 MiB')\n"
        "def test_it(): device.allocate(1 << 20)\n"
    )
    arguments = ("-p", "no:cacheprovider", "--gpu-memory=h200", tmp_path)
    done = run(installed / "pytest", *arguments, cwd=tmp_path, PYTHONPATH=str(PROGRAMS))
    assert "1 tests measured" in done.stdout
    # The package's own tests run on the installed wheel.
    done = run(
        installed / "python",
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests/python/plugin_test.py"),
        cwd=tmp_path,
        VRAMSTOW_TEST_INSTALLED=str(installed / "vramstow"),
    )
    assert " passed" in done.stdout and "failed" not in done.stdout
