"""Makes an installation in a separate folder, and checks that apply to every installation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from built import BUILD, ROOT, Ran, run_program

# Libraries that every system with glibc has. Since glibc 2.34 most of them are empty.
C_LIBRARY = {
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
# Libraries of PyTorch or its process, which a library that is loaded with PyTorch may need.
BESIDE_TORCH = {"libc10.so", "libc10_cuda.so", "libtorch_cpu.so", "libstdc++.so.6", "libgcc_s.so.1"}
# Optional libraries: each is used if it exists, and is not needed otherwise.
OPTIONAL = {"libvramstow-unwind.so": re.compile(r"liblzma(-\w+)?\.so\.5(\.\d+)*")}
# The symbols that a host process may see of the libraries that are preloaded into it.
VISIBLE = {
    "libvramstow.so": r"cu[A-Z]\w+|vramstow_\w+|dl(v?sym|open)|_[eE]xit|VRAMSTOW_[\w.]+"
    r"|ibv_\w+|IBVERBS_[\d.]+|nccl[A-Z]\w+",
    "libvramstow-core.so": "vramstow_core_attach|InitializeInjectionNvtx2",
    "libvramstow-cupti.so": r"cupti\w+|vramstow_cupti_watch",
}

# A program that opens the driver by name, as every CUDA runtime does: it allocates 48 MiB, frees
# 16, and prints which of vramstow's files are mapped.
PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
typedef unsigned long long Address;
int main(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*retain)(void**, int) = (int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*set)(void*) = (int (*)(void*))dlsym(driver, "cuCtxSetCurrent");
  int (*take)(Address*, size_t) = (int (*)(Address*, size_t))dlsym(driver, "cuMemAlloc_v2");
  int (*give)(Address) = (int (*)(Address))dlsym(driver, "cuMemFree_v2");
  void* context;
  Address kept, given;
  if (init(0) || retain(&context, 0) || set(context)) return 1;
  if (take(&kept, 32 << 20) || take(&given, 16 << 20) || give(given)) return 2;
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (fgets(line, sizeof line, maps)) {
    char* path = strchr(line, '/');
    if (path != NULL && strstr(path, "vramstow")) fputs(path, stdout);
  }
  return 0;
}
"""


def run(*command: str | Path, cwd: Path | None = None, **more: str) -> Ran:
    unwanted = ("PYTHONPATH", "LD_PRELOAD", "LD_LIBRARY_PATH")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in unwanted and "VRAMSTOW" not in name
    }
    return run_program(*command, cwd=cwd, env=environment | more, timeout=600)


def must(*command: str | Path, cwd: Path | None = None, **more: str) -> str:
    done = run(*command, cwd=cwd, **more)
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def binaries(tree: Path) -> Iterable[Path]:
    """Returns the files that the system would execute or load."""
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            yield path


def check_binaries(tree: Path) -> None:
    """Checks that no binary searches or names the folder in which it was built."""
    found = list(binaries(tree))
    assert {"vramstow", "libvramstow.so", "libvramstow-core.so", "libcuda.so.1"} <= {
        path.name for path in found
    }
    for path in found:
        contents = path.read_bytes()
        for folder in (str(ROOT), str(BUILD), str(Path.home()) + "/"):
            assert folder.encode() not in contents, f"{path.name} has {folder}"
        dynamic = must("readelf", "-dW", path)
        paths = [line for line in dynamic.splitlines() if "RPATH" in line or "RUNPATH" in line]
        assert all("[$ORIGIN" in line and ":" not in line.split("[")[1] for line in paths), paths


def version_of(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split("_")[1].split(".")))


def check_needs(tree: Path, newest_glibc: str) -> None:
    """Checks that all binaries need only this glibc, and export only intended names."""
    for path in binaries(tree):
        dynamic = must("readelf", "-dW", path)
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
        foreign = needed - C_LIBRARY
        if path.parent.name == "compiled-adapters" or path.name.startswith("driver_"):
            foreign -= BESIDE_TORCH
        if path.name in OPTIONAL:
            foreign = {name for name in foreign if not OPTIONAL[path.name].fullmatch(name)}
        assert not foreign, (path.name, foreign)
        versions = set(re.findall(r"Name: (GLIBC_[\d.]+)", must("readelf", "-VW", path)))
        too_new = {name for name in versions if version_of(name) > version_of(newest_glibc)}
        assert not too_new, (path.name, too_new)
        if path.name in VISIBLE:
            lines = must("nm", "-D", "--defined-only", path).splitlines()
            shown = {line.split()[2].partition("@")[0] for line in lines}
            unwanted = [name for name in shown if not re.fullmatch(VISIBLE[path.name], name)]
            assert shown and not unwanted, (path.name, unwanted)


def check_rehearsal(prefix: Path, folder: Path) -> None:
    """Runs a plain CUDA program on the simulated GPU of this installation, and of no other."""
    folder.mkdir()
    (folder / "program.c").write_text(PROGRAM)
    must("gcc", "program.c", "-o", "program", cwd=folder)
    program = prefix / "bin/vramstow"
    mapped = must(program, "run", "--simulate=h100", "--", "./program", cwd=folder).split()
    assert any(path.endswith("/libvramstow-core.so") for path in mapped)
    assert any(path.endswith("/libcuda.so.1") for path in mapped)
    libraries = {path for path in mapped if ".so" in path}
    assert all(path.startswith(f"{prefix.resolve()}/") for path in libraries), libraries
    [trace] = folder.glob("program-*.stow")
    report = must(program, "analyze", trace, cwd=folder)
    assert "48.0 MiB" in report and "simulated" in report.lower()
    must(program, "check", trace, "--assert", "peak_reserved == 48MiB", cwd=folder)
    assert must(program, "doctor", "--simulate=h100", "--json", cwd=folder, CXX="g++").count(
        "vramstow sees a preloaded process"
    )


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "prefix"
    must("cmake", "--install", BUILD, "--strip", "--prefix", folder)
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ready = os.environ.get("VRAMSTOW_TEST_WHEEL")
    if ready is not None:
        return Path(ready)
    folder = tmp_path_factory.mktemp("wheel")
    made = run_program(ROOT / "setup/wheel", "--to", folder, cwd=ROOT)
    assert made.returncode == 0, made.stderr[-3000:]
    return Path(made.stdout.strip())
