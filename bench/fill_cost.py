"""Measures how long a job waits for its first memory.

It fills a simulated GPU whose calls for virtual memory take time, with chunks of 2 MiB and with
larger ones.

python bench/fill_cost.py [--gib 80] [--time 40us] [--large-chunks 64MiB]

The times of the calls are modelled (vmm-time=); the calls are those of the real pool.
"""

from __future__ import annotations

import argparse
import collections
import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CALLS = ("cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease")
# The child process allocates blocks of 512 MiB until no memory is left.
FILL = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
block, held, begin = ctypes.c_uint64(), 0, time.monotonic()
while held < {bytes}:
    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(512 << 20)) == 0
    held += 512 << 20
print(held, time.monotonic() - begin)
"""


def fill(arguments: argparse.Namespace, large_chunks: str) -> tuple[float, collections.Counter]:
    """Returns the seconds for all blocks, and the driver's calls by name."""
    build = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "calls.csv"
        card = f"h200,contents=discard,vmm-time={arguments.time},call-log={log}"
        command = [
            *(str(build / "bin/vramstow"), "run", "--no-trace", f"--simulate={card}", "--pool=on"),
            *(f"--large-chunks={large_chunks}", "--", sys.executable, "-c"),
            FILL.format(bytes=arguments.gib << 30),
        ]
        ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
        seconds = float(ended.stdout.split()[-1])
        with log.open() as lines:
            calls = collections.Counter(
                name for row in csv.reader(lines) for name in row if name in CALLS
            )
    return seconds, calls


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=int, default=80, help="how much is filled")
    parser.add_argument("--time", default="40us", help="of each call, as vmm-time= has it")
    parser.add_argument("--large-chunks", default="64MiB")
    arguments = parser.parse_args()
    for large_chunks in ("0", arguments.large_chunks):
        seconds, calls = fill(arguments, large_chunks)
        told = ", ".join(f"{calls[name]:,} {name}" for name in CALLS if calls[name])
        print(f"--large-chunks={large_chunks}: {arguments.gib} GiB in {seconds:.2f} s; {told}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
