"""Measures how long bursts and requests wait when several jobs use one GPU in turns (--share).

python bench/share_bursts.py [notebook] [notebook-2] [serving] [--seconds S] [--json FILE]

notebook: a training of 70% of the GPU, beside a notebook that holds half of it and uses it in short
bursts; notebook-2 has two trainings. serving: two loops of 60% each that get requests at random
moments, alone and together. The jobs (share_jobs.py) keep the virtual clock of clock=model together
with the real time, so a run takes --seconds of real time, and the machine must be faster than the
simulated GPU. All times are those of the virtual clock; "by real time" are the same by the real
one, which are longer if the machine is too slow.

The latency is the time from the moment at which a burst or a request comes until its work has
ended. The wait is the latency without the time that this work takes by itself: it includes the
wait for an earlier burst that is late.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", HERE.parent / "build"))
SECOND = 1_000_000_000
CARD_MIB = 21_400  # of which the decoder of share.py has 70%
CONTEXT_MIB = 512
BURST, EVERY = 0.5, 7.5  # seconds
RATES = (1.0, 2.5)  # requests of each loop, a second
MIXES = ("notebook", "notebook-2", "serving")

Figures = dict[str, Any]


class Job:
    """A job under `vramstow run --share`, ready to start."""

    def __init__(self, folder: Path, number: int, share: str, arguments: Sequence[object]) -> None:
        self.errors = folder / f"err{number}"
        card = f"h100,context={CONTEXT_MIB}MiB,clock=model,values=off,memory={CARD_MIB}MiB"
        command = [
            str(BUILD / "bin/vramstow"),
            "run",
            f"--simulate={card},share={folder / 'card'}",
            f"--trace-dir={folder / f'traces{number}'}",
            f"--share=dir={folder / 'tables'}{share}",
            # The host's memory is not what is measured.
            "--offload=explicit,host=256GiB",
            "--",
            sys.executable,
            str(HERE / "share_jobs.py"),
            *map(str, arguments),
        ]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors.open("w"),
            text=True,
        )
        self.ready_ns = self.read()["ready_ns"]

    def read(self) -> Figures:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a job ended early: {self.errors.read_text()[-2000:]}")
        return json.loads(line)

    def start(self, real: int, virtual: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{real} {virtual}\n")
        self.process.stdin.flush()

    def end(self) -> Figures:
        figures = self.read()
        self.process.wait()
        lines = self.errors.read_text().splitlines()
        shared = [line.split(None, 1)[1] for line in lines if "  shared " in line]
        return {**figures, "shared": "".join(shared)}


def run(*jobs: tuple[str, Sequence[object]]) -> list[Figures]:
    """Runs jobs, given by what follows the folder in --share and by arguments, on one GPU."""
    with tempfile.TemporaryDirectory() as name:
        started = [Job(Path(name), number, *job) for number, job in enumerate(jobs)]
        real = time.monotonic_ns() + SECOND // 10
        virtual = max(job.ready_ns for job in started) + SECOND // 10
        for job in started:
            job.start(real, virtual)
        return [job.end() for job in started]


def at(part: float, times: Sequence[int]) -> float:
    """Returns a quantile, in seconds."""
    return sorted(times)[min(len(times) - 1, int(part * len(times)))] / SECOND


def show(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def quantiles(times: Sequence[int]) -> str:
    return f"{at(0.5, times):.2f}, {at(0.95, times):.2f}, {max(times) / SECOND:.2f}"


def notebook(seconds: float, trainings: int) -> list[Figures]:
    training = ["trains", "--seconds", seconds]
    cells = ["bursts", "--seconds", seconds, "--memory", (CARD_MIB - CONTEXT_MIB) // 2]
    cells += ["--burst", BURST, "--every", EVERY]
    (alone,) = run(("", ["trains", "--seconds", 15]))
    rate = alone["steps"] / alone["end_ns"]
    show("notebook", "wait s: p50, p95, most", "by real time", "steps ÷ alone", "bursts ÷ time")
    show(*["---"] * 5)
    facts = []
    for name, priority in {"interactive": ",priority=interactive", "equal priority": ""}.items():
        *trained, bursts = run(*[("", training)] * trainings, (priority, cells))
        steps = sum(one["steps"] for one in trained)
        end = max(one["end_ns"] for one in trained)
        show(
            name,
            quantiles(bursts["waited_ns"]),
            quantiles(bursts["real_waited_ns"]),
            f"{steps / end / rate:.3f}",
            f"{bursts['busy_ns'] / end:.3f}",
        )
        facts.append({"mix": name, "rate": rate, "trained": trained, "bursts": bursts})
        print("  ", *(one["shared"] for one in [*trained, bursts]), sep="\n  ", file=sys.stderr)
    return facts


def serving(seconds: float) -> list[Figures]:
    show("serving", "latency s: p50, p95, most", "by real time", "requests ÷ s")
    show(*["---"] * 4)
    facts = []
    for rate in RATES:
        memory = (CARD_MIB - CONTEXT_MIB) * 6 // 10
        loops = [
            ["serves", "--seconds", seconds, "--memory", memory, "--rate", rate, "--seed", seed]
            for seed in (1, 2)
        ]
        with ThreadPoolExecutor() as threads:  # each has a GPU of its own
            alone = [one for (one,) in threads.map(lambda loop: run(("", loop)), loops)]
        beside = run(*(("", loop) for loop in loops))
        for name, ran in {f"{rate}/s alone": alone, f"{rate}/s beside": beside}.items():
            latency = [one for loop in ran for one in loop["latency_ns"]]
            real = [one for loop in ran for one in loop["real_latency_ns"]]
            through = [len(loop["latency_ns"]) / loop["end_ns"] * SECOND for loop in ran]
            show(
                name,
                quantiles(latency),
                quantiles(real),
                ", ".join(f"{each:.2f}" for each in through),
            )
            facts.append({"mix": name, "loops": ran})
            print("  ", *(one["shared"] for one in ran), sep="\n  ", file=sys.stderr)
    return facts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help=f"{', '.join(MIXES)}; default: all")
    parser.add_argument("--seconds", type=float, default=300, help="of each run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go")
    options = parser.parse_args()
    unknown = [name for name in options.what if name not in MIXES]
    if unknown:
        parser.error(f"there is no mix '{unknown[0]}': {', '.join(MIXES)}")
    facts: Figures = {}
    for name in options.what or MIXES:
        if name == "serving":
            facts[name] = serving(options.seconds)
        else:
            facts[name] = notebook(options.seconds, 2 if name == "notebook-2" else 1)
    if options.json:
        options.json.write_text(json.dumps(facts) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
