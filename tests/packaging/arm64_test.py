"""Tests the installation for arm64: it is cross-built, and its program runs in an emulator.

The emulator lacks the address space of the simulated GPU, so no job is simulated there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from built import BUILD, ROOT, run_program
from conftest import binaries, must

SYSROOT = ROOT / "build-arm64-parts/sysroot"
TRACE = ROOT / "tests/tracer/golden/v2.2-closed.stow"


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arm64") / "vramstow"
    made = run_program(
        ROOT / "setup/arm64", "--to", folder, env=os.environ | {"VRAMSTOW_SYSROOT": ""}
    )
    assert made.returncode == 0, made.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def emulator() -> str:
    found = shutil.which("qemu-aarch64-static")
    if found is None:
        pytest.skip("needs Debian's qemu-user-static")
    return found


def test_all_of_it_is_for_arm64(installation: Path) -> None:
    found = list(binaries(installation))
    assert {"vramstow", "libvramstow.so", "libvramstow-core.so"} <= {path.name for path in found}
    for path in found:
        assert "AArch64" in must("readelf", "-h", path), path


def test_the_program_tells_of_a_trace_what_it_tells_here(installation: Path, emulator: str) -> None:
    emulated = (emulator, "-L", SYSROOT, installation / "bin/vramstow")
    assert must(*emulated, "--version") == must(BUILD / "bin/vramstow", "--version")
    for arguments in (
        ("analyze", TRACE),
        ("analyze", "--full", TRACE),
        ("analyze", "--json", TRACE),
        ("export", "--to", "csv", TRACE),
    ):
        assert must(*emulated, *arguments) == must(BUILD / "bin/vramstow", *arguments)


def test_a_process_with_the_preload_does_what_it_does_without(
    installation: Path, emulator: str, tmp_path: Path
) -> None:
    source = tmp_path / "words.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("words"); return 7; }\n')
    program = tmp_path / "words"
    must("aarch64-linux-gnu-gcc", f"--sysroot={SYSROOT}", source, "-o", program)
    preload = f"LD_PRELOAD={installation / 'lib/libvramstow.so'}"
    told = f"VRAMSTOW_TRACE_DIR={tmp_path}"
    ran = run_program(emulator, "-L", SYSROOT, "-E", preload, "-E", told, program)
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "words\n", "")
