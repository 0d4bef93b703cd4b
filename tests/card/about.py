"""Describes this machine, allocates memory through PyTorch, and reports who served it, as JSON.

The first step of the kit runs it under the pool; without vramstow it reports the free memory.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import sys
from pathlib import Path

import torch
import vramstow

ELEMENTS = 1 << 20


def driver_release() -> str:
    """Returns the driver's release as nvidia-smi prints it; empty if neither the monitoring library
    nor the kernel has it."""
    try:
        monitor = ctypes.CDLL("libnvidia-ml.so.1")
        text = ctypes.create_string_buffer(96)
        if monitor.nvmlInit_v2() == 0 and monitor.nvmlSystemGetDriverVersion(text, 96) == 0:
            return text.value.decode()
    except (OSError, AttributeError):
        pass
    kernel = Path("/proc/driver/nvidia/version")
    if kernel.exists():
        found = re.search(r"Kernel Module\s.*?(\d+\.\d+[.\d]*)", kernel.read_text())
        return found[1] if found else ""
    return ""


def driver_cuda() -> str:
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()


def served(zeros: torch.Tensor) -> dict:
    """Prints the result of vramstow_get_stats, and whether the tensor is in one of the pool's
    blocks."""
    stats = vramstow.stats()
    address = zeros.data_ptr()
    inside = any(
        block.address <= address < block.address + block.size_bytes for block in vramstow.blocks()
    )
    return {
        "stats": None if stats is None else vars(stats),
        "inside": inside,
        "why_not": vramstow.why_not(),
    }


def main() -> None:
    free, total = torch.cuda.mem_get_info()
    told = {
        "card": torch.cuda.get_device_name(),
        "total_bytes": total,
        "free_bytes": free,
        "compute_capability": ".".join(map(str, torch.cuda.get_device_capability())),
        "driver": driver_release(),
        "driver_cuda": driver_cuda(),
        "torch": torch.__version__,
        "torch_cuda": torch.version.cuda,
        "python": platform.python_version(),
        "system": system(),
        "processors": len(os.sched_getaffinity(0)),
    }
    zeros = torch.zeros(ELEMENTS, device="cuda")
    told |= {"bytes": zeros.numel() * 4, "all_zero": not bool(zeros.cpu().any())}
    told |= served(zeros)
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
