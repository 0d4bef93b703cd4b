"""Measures what --offload and --launches add to a launch with eight pointers.

With --offload it measures twice: while all memory is on the device, and while some is on the host.

python bench/launch_cost.py [--rounds 20] [--launches 50000]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
# With `effects=off` the kernel itself does not run, only the code around it.
RUN = ["run", "--simulate=h200,effects=off", "--pool=on"]
WAYS = {
    "without either": (["--no-trace"], []),
    "--offload, at rest": (["--no-trace", "--offload=explicit"], []),
    "with memory on the host": (["--no-trace", "--offload=explicit"], ["watched"]),
    "--launches=off": ([], []),
    "--launches=count": (["--launches=count"], []),
    "--launches=sample=100": (["--launches=sample=100"], []),
    "--launches=sample=1": (["--launches=sample=1"], []),
}


def launch_ns(launches: int, flags: list[str], mode: list[str]) -> float:
    loop = [BUILD / "bin/launch_loop", str(launches), *mode]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [BUILD / "bin/vramstow", *RUN, f"--trace-dir={folder}", *flags, "--", *loop],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise SystemExit(f"launch_loop ended with status {done.returncode}: {done.stderr}")
    return float(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--launches", type=int, default=50_000)
    arguments = parser.parse_args()
    if min(arguments.rounds, arguments.launches) < 1:
        parser.error("--rounds and --launches must be at least 1")
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(arguments.rounds):
        for way, (flags, mode) in WAYS.items():
            times[way].append(launch_ns(arguments.launches, flags, mode))
    # Use the fastest fifth, because other load on the machine only ever adds time.
    fastest = {
        way: statistics.mean(sorted(found)[: max(1, len(found) // 5)])
        for way, found in times.items()
    }
    base = fastest["without either"]
    for way, found in fastest.items():
        print(f"{way:<25} {found:7.1f} ns  {found - base:+7.1f}  {found / base:.2f} x")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
