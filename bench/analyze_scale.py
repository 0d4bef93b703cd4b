"""Measures how fast traces of growing size are analysed, compared with other tools.

Traces are made by `make_trace` (random replacement among 1,000 and 1,000,000 live blocks): plain
ones and, with `--pool`, traces of vramstow's pool with all of its events. The processor time of all
threads is printed beside the wall time; on a busy machine only the processor time is meaningful. A
loop in Python is the yardstick: results of two machines are compared as multiples of its time.

    python bench/analyze_scale.py [--most 1e7] [--pool] [--others PYTHON]

`--others` names a Python with memray (pip install memray), for a comparison with it; PyTorch's own
_memory_viz.py is compared if torch is installed for the Python that runs this.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
VRAMSTOW = BUILD / "bin/vramstow"
MAKE_TRACE = BUILD / "bin/make_trace"
YARDSTICK = "sum(i * i for i in range(10_000_000))"
MEMRAY_JOB = """
import sys
class Block:
    __slots__ = ('data',)
live = [bytearray(1024) for _ in range(1000)]
for i in range(int(sys.argv[1])):
    live[i * 7919 % 1000] = bytearray(1024 + i % 512)
"""


@dataclass
class Cost:
    wall: float
    processor: float
    mebibytes: float


def run(*command: object) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - begin, processor, usage.ru_maxrss / 1024)


def tell(name: str, cost: Cost, events: int, yardstick: float) -> None:
    print(
        f"{name:34} {cost.wall:8.2f} s  {cost.processor:8.2f} s  {cost.mebibytes:7.0f} MiB  "
        f"{events / cost.wall / 1e6:7.2f} M/s  {events / cost.processor / 1e6:7.2f} M/s of it"
        f"  {cost.processor / yardstick:7.2f} x",
        flush=True,
    )


def scale(folder: Path, most: int, pool: list[str], yardstick: float) -> None:
    for live in (1000, 1_000_000):
        events = 100_000
        while events <= most:
            trace = folder / "events.stow"
            trace.unlink(missing_ok=True)
            run(MAKE_TRACE, folder, events, live, *pool)
            name = f"{events:.0e} events, {live:,} live{', pool' if pool else ''}"
            tell(name, run(VRAMSTOW, "analyze", "--json", trace), events, yardstick)
            if events == most:
                page = folder / "page.html"
                tell("  report", run(VRAMSTOW, "report", trace, "-o", page), events, yardstick)
            trace.unlink()
            events *= 10


def others(folder: Path, python: str | None, yardstick: float) -> None:
    events = 200_000
    run(MAKE_TRACE, folder, events, 1000)
    trace = folder / "events.stow"
    snapshot = folder / "snapshot.pickle"
    run(VRAMSTOW, "export", trace, "--to", "snapshot", "-o", snapshot)
    tell("analyze, .stow", run(VRAMSTOW, "analyze", "--json", trace), events, yardstick)
    own = run(VRAMSTOW, "analyze", "--json", snapshot)
    tell("analyze, the same as a snapshot", own, events, yardstick)
    viewers = [Path(folder) / "torch/cuda/_memory_viz.py" for folder in sys.path if folder]
    for viewer in [path for path in viewers if path.exists()][:1]:
        for command in ("stats", "trace"):
            cost = run(sys.executable, viewer, command, snapshot)
            tell(f"_memory_viz.py {command}", cost, events, yardstick)
            print(f"  {cost.processor / own.processor:.1f} times as long as analyze")
    if python is None:
        return
    recorded = folder / "memray.bin"
    job = folder / "job.py"
    job.write_text(MEMRAY_JOB)
    run(python, "-m", "memray", "run", "-q", "-o", recorded, job, events // 2)
    for command in ("stats", "summary"):
        cost = run(python, "-m", "memray", command, recorded)
        tell(f"memray {command}", cost, events, yardstick)
    cost = run(python, "-m", "memray", "flamegraph", "-f", "-o", folder / "flame.html", recorded)
    tell("memray flamegraph", cost, events, yardstick)
    page = run(VRAMSTOW, "report", trace, "-o", folder / "page.html")
    tell("report, .stow", page, events, yardstick)
    print(f"  memray's page takes {cost.processor / page.processor:.1f} times as long")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=float, default=1e7, help="events of the longest trace")
    parser.add_argument("--pool", action="store_true", help="traces of our pool, beside plain ones")
    parser.add_argument("--others", metavar="PYTHON", help="a Python with memray")
    arguments = parser.parse_args()
    yardstick = min(run(sys.executable, "-c", YARDSTICK).processor for _ in range(3))
    print(f"yardstick: {yardstick:.2f} s of processor")
    print(f"{'':34} {'wall':>10}  {'processor':>10}  {'memory':>11}")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        scale(Path(name), int(arguments.most), [], yardstick)
        if arguments.pool:
            scale(Path(name), int(arguments.most), ["pool"], yardstick)
        others(Path(name), arguments.others, yardstick)


if __name__ == "__main__":
    main()
