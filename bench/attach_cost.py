"""Measures what an attachment costs a process: the time until the first answer, the time for which
the process is stopped, and the time for each tensor that is allocated and freed while it is
observed.

Usage: attach_cost.py [--times N] [--pairs N]

Three processes take turns: a plain one on the simulated device, one that vramstow is attached to,
and one under `vramstow run`. Each allocates and frees tensors from the same three lines; the result
is the processor time of its main thread for a pair, above that of the plain process in the same
turn.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # conftest.py imports modules from there

from built import VRAMSTOW  # noqa: E402

_spec = importlib.util.spec_from_file_location("attach_conftest", ROOT / "tests/attach/conftest.py")
assert _spec is not None and _spec.loader is not None
_attach = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_attach)

PROGRAM = """
import select, sys, time, torch
kept = [torch.ones(1 << 18, device="cuda") for _ in range(64)]
def pairs(count):
    begin = time.thread_time_ns()
    for _ in range(count):
        a = torch.empty(1000, device="cuda")
        b = torch.empty(5000, device="cuda")
        del a, b
    return (time.thread_time_ns() - begin) / count / 2
pairs(2000)
print("ready", flush=True)
while True:
    if not select.select([sys.stdin], [], [], 0.002)[0]:
        pairs(10)  # the main thread runs Python
        continue
    line = sys.stdin.readline()
    if not line:
        break
    print(pairs(int(line)), flush=True)
"""


class Worker:
    def __init__(self, folder: Path, *before: str) -> None:
        environment = None if before else _attach.plain_environment()
        self.process = subprocess.Popen(
            [*before, _attach.PYTHON, "-c", PROGRAM],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def measure(self, pairs: int) -> float:
        """Returns nanoseconds for each pair."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{pairs}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def ask(pid: int, *options: str) -> dict:
    command = [VRAMSTOW, "attach", str(pid), "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def tell(what: str, numbers: list[float], unit: str) -> None:
    middle, most = statistics.median(numbers), max(numbers)
    print(f"{what}: {middle:.1f} {unit} (median of {len(numbers)}, at most {most:.1f})", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--times", type=int, default=20, help="attachments, and turns")
    parser.add_argument("--pairs", type=int, default=5000, help="tensors in a turn")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, attached = Worker(folder), Worker(folder)
        run = Worker(folder, str(VRAMSTOW), "run", "--simulate=h200", "--quiet", "--")
        pid = attached.process.pid
        ask(plain.process.pid, "--census")  # compiles the libraries that it loads
        plain.stop()
        plain = Worker(folder)
        begin = time.monotonic()
        ask(pid, "--census")
        tell("the first command, until it has ended", [(time.monotonic() - begin) * 1000], "ms")
        answers = [ask(pid, "--census") for _ in range(arguments.times)]
        tell("attach until a census is recorded", [one["answered_ms"] for one in answers], "ms")
        tell("the process stands still for", [one["stopped_ms"] for one in answers], "ms")
        ask(pid)
        of_attach, of_run = [], []
        for _ in range(arguments.times):
            base = plain.measure(arguments.pairs)
            of_attach.append(attached.measure(arguments.pairs) - base)
            of_run.append(run.measure(arguments.pairs) - base)
        tell("a pair of events while attached, above none", of_attach, "ns")
        tell("a pair of events under vramstow run, above none", of_run, "ns")
        for worker in (plain, attached, run):
            worker.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
