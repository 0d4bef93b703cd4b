"""Measures what a run under vramstow costs five jobs, in processor time.

The results are ratios to the same job without vramstow.

Usage: run_cost.py [--jobs JOB,…] [--kinds KIND,…] [--groups N] [--before BUILD] [--kernel-time T]
       run_cost.py --instructions [--steps N] [--jobs JOB,…] [--kinds KIND,…] [--before BUILD]

One process of each kind is started and warmed up; then they take turns with groups of steps, some
50 ms each, so that a machine that gets slower gets slower for all of them. The result is the median
over the groups of a kind's processor time, its threads and child processes included, divided by
that of the native process in the same turn, and how sure that is: half of the range that a median
of as many values has in 95 of 100 cases. All processes are restarted a few times (--starts),
because where the memory of a process lies makes a difference, too.

The device is simulated, and its kernels take no time unless --kernel-time says so: all that a step
costs is the processor's. *native* has the simulated device and nothing else of vramstow.

With --instructions, valgrind (callgrind) counts the instructions of --steps warm steps in each
kind, in all threads of the job's process but not in child processes. The cost of cache misses is
not included. Each kind takes a minute or two. Three parts of the count depend on the load of the
machine. The trace's thread samples the host's memory once a second, so a slower step has more
samples. An interval that is too long for an event's short form needs a record of its own:
$VRAMSTOW_BUILD can be a build with -DCMAKE_CXX_FLAGS=-DVRAMSTOW_COUNTER_SHIFT=9, whose clock ticks
are 64 times as long. And a chunk of a trace, which holds some seven to fifty steps, is compressed
when it is full, which may or may not be during these steps: more --steps even that out.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", HERE.parent / "build"))
NATIVE = "native"
KINDS = {
    NATIVE: ["--no-trace"],
    "no-trace": ["--no-trace"],
    "default": [],
    "pool": ["--pool=on"],
    "pool, no-trace": ["--pool=on", "--no-trace"],
    "stacks=off": ["--stacks=off"],
    "stacks=sites": ["--stacks=sites"],
    "pool, stacks=sites": ["--pool=on", "--stacks=sites"],
}
USUAL = [NATIVE, "no-trace", "default", "pool"]
JOBS = ["transformer", "convnet", "generate", "lstm", "loader"]
BEFORE = "before: "


@dataclass
class Worker:
    """A process that runs a job and measures groups of its steps."""

    process: subprocess.Popen[str]

    def measure(self, steps: int) -> float:
        """Returns the nanoseconds of a step."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a process ended with status {self.process.wait()}")
        return float(line) / steps

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@dataclass
class Figures:
    """The measured times of a kind."""

    times: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)


def environment_of(build: Path, spec: str, folder: str) -> dict[str, str]:
    """Returns an environment with the simulated device, but without the preloaded library."""
    command = [str(build / "bin/vramstow"), "run", f"--simulate={spec}", "--no-trace", "--quiet"]
    command += [f"--trace-dir={folder}", "--", "env", "-0"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = dict(pair.split("=", 1) for pair in told.split("\0") if "=" in pair)
    preloaded = found["LD_PRELOAD"].split(":")
    found["LD_PRELOAD"] = ":".join(
        file for file in preloaded if Path(file).name != "libvramstow.so"
    )
    del found["PYTHONPATH"]  # loads the start-up hook
    return found


def start(
    kind: str, job: str, spec: str, folder: str, before: Path | None, counter: Path | None = None
) -> Worker:
    """Starts the job. With `counter`, the library of counted_steps.cc, valgrind runs it."""
    build = BUILD
    if kind.startswith(BEFORE):
        assert before is not None
        build = before
    program = [sys.executable, str(HERE / "run_cost_jobs.py"), job]
    if counter is not None:
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--dump-instr=no"]
        valgrind.append(f"--callgrind-out-file={counter.parent}/%p.out")
        program = [*valgrind, *program, str(counter)]
    environment = dict(os.environ)
    if kind == NATIVE:
        command = program
        environment = environment_of(build, spec, folder)
    else:
        flags = KINDS[kind.removeprefix(BEFORE)]
        command = [str(build / "bin/vramstow"), "run", f"--simulate={spec}", "--quiet", *flags]
        command += [f"--trace-dir={folder}", "--", *program]
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if counter is not None else None,
        text=True,
    )
    return Worker(process)


def compile_counter(folder: Path) -> Path:
    library = folder / "libcounted_steps.so"
    source = HERE / "counted_steps.cc"
    command = ["c++", "-O2", "-fPIC", "-shared", str(source), "-o", str(library)]
    if subprocess.run(command).returncode != 0:
        raise SystemExit("run_cost.py --instructions needs valgrind with its headers.")
    return library


def count(job: str, kind: str, counter: Path, spec: str, arguments: argparse.Namespace) -> float:
    """Returns the instructions of a step."""
    with tempfile.TemporaryDirectory() as folder:
        worker = start(kind, job, spec, folder, arguments.before, counter)
        _, said = worker.process.communicate(f"{arguments.steps}\n")
    # Child processes were forked before any instruction was counted, so each of them prints 0.
    collected = max((int(number) for number in re.findall(r"Collected : (\d+)", said)), default=0)
    if worker.process.returncode != 0 or collected == 0:
        raise SystemExit(f"{job}, {kind}: valgrind has no count:\n{said[-2000:]}")
    return collected / arguments.steps


def print_instructions(job: str, kinds: list[str], arguments: argparse.Namespace) -> None:
    native = 0.0
    with tempfile.TemporaryDirectory() as folder:
        counter = compile_counter(Path(folder))
        for kind in kinds:
            counted = count(job, kind, counter, spec_of(arguments), arguments)
            native = native or counted
            print(f"{job:12} {kind:28} {counted / 1000:9.0f} {counted / native:7.4f}", flush=True)


def spec_of(arguments: argparse.Namespace) -> str:
    return f"h200,effects=off,values=off,kernel-time={arguments.kernel_time}"


def spread(values: list[float]) -> float:
    """Returns half of the range in which the median of such values lies, at 95%."""
    ordered = sorted(values)
    far = min(round(0.98 * len(ordered) ** 0.5), len(ordered) // 2)
    middle = len(ordered) // 2
    return (ordered[min(middle + far, len(ordered) - 1)] - ordered[max(middle - far, 0)]) / 2


def measure(job: str, kinds: list[str], arguments: argparse.Namespace) -> dict[str, Figures]:
    figures = {kind: Figures() for kind in kinds}
    spec = spec_of(arguments)
    for _ in range(arguments.starts):
        with tempfile.TemporaryDirectory() as folder:
            workers = {kind: start(kind, job, spec, folder, arguments.before) for kind in kinds}
            single = {kind: worker.measure(1) for kind, worker in workers.items()}
            steps = max(1, round(arguments.group_ms * 1e6 / single[NATIVE]))
            for turn in range(arguments.groups):
                order = kinds if turn % 2 == 0 else kinds[::-1]
                took = {kind: workers[kind].measure(steps) for kind in order}
                for kind in kinds:
                    figures[kind].times.append(took[kind])
                    figures[kind].ratios.append(took[kind] / took[NATIVE])
            for worker in workers.values():
                worker.end()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", default=",".join(JOBS), help="of " + ", ".join(JOBS))
    parser.add_argument("--kinds", default=",".join(USUAL).replace(", ", " "), help="of these, by")
    parser.add_argument("--groups", type=int, default=100, help="of each process")
    parser.add_argument("--group-ms", type=float, default=40, help="how long a group takes")
    parser.add_argument("--starts", type=int, default=3, help="how often processes are started")
    parser.add_argument("--kernel-time", default="0", help="of a kernel, such as 10us")
    parser.add_argument("--before", type=Path, help="the build of the code before, measured, too")
    parser.add_argument("--instructions", action="store_true", help="are counted by valgrind")
    parser.add_argument("--steps", type=int, default=20, help="whose instructions are counted")
    arguments = parser.parse_args()
    names = {name.replace(", ", " "): name for name in KINDS}
    for name in arguments.kinds.split(","):
        if name not in names:
            parser.error(f"no kind is called '{name}'; there are: {', '.join(names)}")
    for name in arguments.jobs.split(","):
        if name not in JOBS:
            parser.error(f"no job is called '{name}'; there are: {', '.join(JOBS)}")
    kinds = [names[name] for name in arguments.kinds.split(",")]
    if NATIVE not in kinds:
        kinds.insert(0, NATIVE)
    if arguments.before is not None:
        kinds += [BEFORE + kind for kind in kinds if kind != NATIVE]
    if arguments.instructions:
        print(f"{'job':12} {'kind':28} {'thousands':>9} {'ratio':>7}", flush=True)
        for job in arguments.jobs.split(","):
            print_instructions(job, kinds, arguments)
        return
    print(f"{'job':12} {'kind':28} {'least µs':>9} {'ratio':>7}", flush=True)
    for job in arguments.jobs.split(","):
        for kind, found in measure(job, kinds, arguments).items():
            ratio = statistics.median(found.ratios)
            print(
                f"{job:12} {kind:28} {min(found.times) / 1000:9.0f} {ratio:7.3f}"
                f" ± {spread(found.ratios):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
