"""Runs the kit in the simulator: a simulated driver replaces the machine's own.

VRAMSTOW_CARD_DRIVER names its folder (lib/vramstow/simulator of a build), VRAMSTOW_CARD_SIMULATE
the SPEC of the GPU. All other files are the bundle's, which treats that driver as the machine's
own: the bundle has no simulator, and does not know of one.
"""

from __future__ import annotations

import os
from pathlib import Path

SIMULATE = os.environ.get("VRAMSTOW_CARD_SIMULATE", "")
DRIVER = os.environ.get("VRAMSTOW_CARD_DRIVER", "")

# The simulated libraries that replace those of PyTorch's packages, in the order of
# tools/launch/installation.cc: a library comes after those whose symbols it uses.
LIBRARIES = (
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


def why_not() -> str:
    """Returns why a requested simulated run is impossible; empty if it is possible, or none was
    requested."""
    if not SIMULATE:
        return ""
    if not DRIVER:
        return "VRAMSTOW_CARD_DRIVER must name the folder of the simulated driver"
    if not (Path(DRIVER) / "libcuda.so.1").is_file():
        return f"there is no libcuda.so.1 in VRAMSTOW_CARD_DRIVER ({DRIVER})"
    return ""


def environment(program: str) -> dict[str, str]:
    """Returns the variables for every command of a simulated run; none for a real GPU.

    PyTorch's operators are computed by a library in the bundle, which Python's start-up hook loads.
    """
    if not SIMULATE:
        return {}
    preload = [f"{DRIVER}/{name}" for name in LIBRARIES if (Path(DRIVER) / name).exists()]
    return {
        "VRAMSTOW_SIMULATED_CARD": SIMULATE,
        "VRAMSTOW_PROGRAM": program,
        "LD_PRELOAD": ":".join(preload),
        "LD_LIBRARY_PATH": DRIVER,
        "TRITON_LIBCUDA_PATH": DRIVER,
        "PYTHONPATH": str(Path(program).parents[1] / "lib/vramstow/python"),
    }
