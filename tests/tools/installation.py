"""Makes an installation of the built program with fake libraries that have the real names.

`vramstow run` is tested with these, so that its tests need neither a GPU nor the simulator.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from built import BUILD, VRAMSTOW, Ran, run_vramstow

WRITE_TRACE = BUILD / "tests/write_trace"
# The libraries of tools/launch/installation.cc, in the order of LD_PRELOAD.
SIMULATOR_LIBRARIES = (
    "libcudart.so.13",
    "libcudart.so.12",
    "libcublasLt.so.13",
    "libcublasLt.so.12",
    "libcublas.so.13",
    "libcublas.so.12",
    "libcudnn.so.9",
    "libnccl.so.2",
    "libcupti.so.13",
    "libcupti.so.12",
    "libcufft.so.12",
    "libcufft.so.11",
    "libcurand.so.10",
    "libcusparse.so.12",
    "libcusolver.so.12",
    "libcusolver.so.11",
    "libcusparseLt.so.0",
)

# The beginning of a Python program that uses CUDA without PyTorch: it creates a context, and a
# variable for an address.
CUDA_BEGINS = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0"""

DRIVER = "int cuInit(unsigned flags) { return (int)flags; }"
SIMULATOR = r"""
#include <stdio.h>
#include <string.h>
int cuInit(unsigned flags) { return (int)flags; }
int vramstowSimulatorCheck(const char* spec, char* text, size_t size) {
  if (strcmp(spec, "help") == 0) return snprintf(text, size, "Cards:\n  h200\n"), 0;
  if (strncmp(spec, "h200", 4) == 0) return snprintf(text, size, "NVIDIA H200"), 0;
  return snprintf(text, size, "there is no card '%s': h200 is one.", spec), 1;
}
"""


def write(folder: Path, scenario: str = "small", **env: str) -> Path:
    """Writes a trace of the scenario (write_trace.cc) into the folder, and returns its path."""
    before = set(folder.glob("*.stow"))
    subprocess.run(
        [WRITE_TRACE, scenario],
        env=os.environ | {"VRAMSTOW_TRACE_DIR": str(folder)} | env,
        check=scenario != "killed",
        timeout=60,
    )
    [trace] = set(folder.glob("*.stow")) - before
    return trace


def analyze(*arguments: object, **options: object) -> Ran:
    return run_vramstow("analyze", *arguments, **{"timeout": 60} | options)


def compile_library(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", path],
        input=source,
        text=True,
        check=True,
        timeout=60,
    )


def torch_folder(tmp_path: Path, release: str) -> Path:
    """Makes a folder with what vramstow reads of a PyTorch, without its headers and libraries."""
    torch = tmp_path / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "lib/libc10_cuda.so").touch()
    (torch / "share/cmake/Torch").mkdir(parents=True)
    (torch / "share/cmake/Torch/TorchConfigVersion.cmake").write_text(
        f'set(PACKAGE_VERSION "{release}")\n'
    )
    return torch


@dataclass
class Installation:
    """A folder with bin/vramstow and its libraries, and one with a driver."""

    prefix: Path
    driver: Path
    traces: Path

    @property
    def program(self) -> Path:
        return self.prefix / "bin/vramstow"

    @property
    def simulator(self) -> Path:
        return self.prefix / "lib/vramstow/simulator"

    def environment(self, **changes: str) -> dict[str, str]:
        base = {name: value for name, value in os.environ.items() if "VRAMSTOW" not in name}
        base["LD_LIBRARY_PATH"] = str(self.driver)
        base["VRAMSTOW_TRACE_DIR"] = str(self.traces)
        # In a build with AddressSanitizer, programs would require its library to be loaded first.
        base["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        return base | changes

    def run(
        self, *arguments: str | Path, env: dict[str, str] | None = None, **options: object
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # type: ignore[call-overload]
            [self.program, *arguments],
            **{
                "capture_output": True,
                "text": True,
                "timeout": 60,
                "check": False,
                "env": self.environment() | (env or {}),
            }
            | options,
        )


def install(folder: Path) -> Installation:
    place = Installation(folder / "prefix", folder / "driver", folder / "traces")
    place.traces.mkdir(parents=True)
    place.program.parent.mkdir(parents=True)
    shutil.copy(VRAMSTOW, place.program)
    compile_library(place.driver / "libcuda.so.1", DRIVER)
    compile_library(place.prefix / "lib/libvramstow.so", "int vramstow_marker;")
    for name in SIMULATOR_LIBRARIES:
        compile_library(place.simulator / name, "int vramstow_simulator_marker;")
    compile_library(place.simulator / "libcuda.so.1", SIMULATOR)
    return place
