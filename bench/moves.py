"""Measures how fast a job is that needs more memory than the GPU has.

It runs with vramstow's offload, and with other techniques.

python bench/moves.py [--quick] [--jobs JOB,…] [--factors F,…] [--means MEANS,…] [--json FILE]

Each job runs on a simulated GPU that is large enough, and then on GPUs whose memory is its peak
divided by each factor: unchanged with --offload=auto, and with the techniques that people write by
hand for it. The time is that of the virtual clock (clock=model), so it does not contain the time of
this machine. Tables in Markdown list the time of a step as a ratio to that on the large GPU. The
best one that fits is bold; "OOM" ran out of memory. Techniques that do not apply to a job have no
row.

link bound: a step in which the memory beyond the GPU's at the peak is copied out once and back
once, both at the same time and while work runs. No technique that moves memory is faster if each
step needs all of it; techniques that compute again may be.

step bound: the same, if these bytes must also have left before the step needs the memory, and must
be back at its end (moves_bound.py). Techniques that keep memory on the host between steps may be
faster.

TRL's file and DeepSpeed are downloaded from PyPI into --packages, a temporary folder by default; if
that fails, they are reported as not tried.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import moves_bound

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", HERE.parent / "build"))
MEBIBYTE = 1 << 20
CARD = "h100,context=512MiB"
LINK_BYTES_PER_SECOND = 55e9  # each way, on the simulated H100
# The bytes that a step of Adam on the host reads and writes for each parameter, and the rate of a
# host: 1e9 parameters take 0.28 s. The model's clock does not include the time of this machine's
# processor.
HOST_BYTES_PER_PARAMETER = 28
HOST_BYTES_PER_SECOND = 100e9
JOBS = {
    "decoder": "decoder of 0.4 G parameters, bf16 autocast, 16,384 tokens",
    "wide": "two wide layers, 0.5 G parameters, 8 passes of 2,048 tokens",
    "resnet": "ResNet-50, bf16 autocast, 96 images",
    "two-models": "two decoders of 1.3 G parameters in turn, inference, 4 batches each",
    "lstm": "LSTM of 4 layers of 2048, 96 sequences of 256",
}
INFERENCE = ("two-models",)
OURS = {
    "vramstow": "--offload=auto,host=64GiB",
    "vramstow, coldest": "--offload=auto,host=64GiB,policy=coldest",
    "vramstow, size": "--offload=auto,host=64GiB,policy=size",
}
# Techniques by which a program can save GPU memory itself (moves_means.py). The value says whether
# a technique is for training or for inference.
BY_HAND = {
    "save_on_cpu": "training",
    "trl": "training",
    "checkpoints": "training",
    "few checkpoints": "training",
    "states-by-hand": "training",
    "models-by-hand": "inference",
    "layers-by-hand": "inference",
    "fsdp": "both",
    "deepspeed": "training",
}
FEW = "few checkpoints"  # the fewest layers with which the job fits
ON_HOST = ("fsdp", "deepspeed")  # techniques whose optimizer runs on the host
PACKAGES = {
    "trl": ["trl"],
    "deepspeed": ["deepspeed", "einops", "hjson", "msgpack", "py-cpuinfo", "pydantic", "tqdm"],
}
PACKAGES["deepspeed"] += ["pydantic-core", "annotated-types", "typing-inspection"]


# Techniques written by hand use the best setting of PyTorch's own allocator.
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
# How libraries report that the GPU has no memory left.
NO_MEMORY = ("_ALLOC_FAILED", "out of memory")


@dataclass
class Run:
    """The results of one simulated run."""

    seconds: float | None = None  # the mean of the later steps; None if it failed
    why: str = ""  # the reason for a failure: "OOM" or an error
    said: list[str] = field(default_factory=list)  # the last lines on standard error
    steps: list[float] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)
    layers: int | None = None  # layers with checkpoints, if not all have them
    traffic: dict[str, float] = field(default_factory=dict)  # bytes and seconds of a step
    offload: dict[str, Any] | None = None  # the summary's figures of moved memory
    ends: list[int] = field(default_factory=list)  # ends of the steps by the GPU's clock, in ns


@dataclass
class Row:
    job: str
    factor: float
    memory_bytes: int
    over_bytes: int  # the part of the peak that does not fit
    reference: float
    link_bound: float  # a multiple of the reference, like the next one
    step_bound: float
    runs: dict[str, Run] = field(default_factory=dict)


class Packages:
    """The packages that are compared with vramstow; each is downloaded when first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, str]] = {}

    def environment(self, means: str) -> dict[str, str]:
        """Returns the environment variables of a technique. Raises OSError if its package is not
        available."""
        if means not in self._known:
            take = {"trl": self._trl, "deepspeed": self._deepspeed}.get(means)
            self._known[means] = take() if take else {}
        return self._known[means]

    def _pip(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", *arguments, "--no-deps", "--quiet"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"DS_BUILD_OPS": "0"},
        )
        if done.returncode != 0:
            raise OSError(f"pip {arguments[0]}: " + (done.stderr.strip().splitlines() or ["?"])[-1])

    def _trl(self) -> dict[str, str]:
        name = "trl/models/activation_offloading.py"
        if not (self._folder / name).exists():
            self._pip("download", "--dest", str(self._folder), *PACKAGES["trl"])
            with zipfile.ZipFile(next(self._folder.glob("trl-*.whl"))) as wheel:
                wheel.extract(name, self._folder)
        return {"MOVES_TRL": str(self._folder / name)}

    def _deepspeed(self) -> dict[str, str]:
        target = self._folder / "deepspeed"
        if not (target / "deepspeed").exists():
            self._pip(
                *("install", "--no-build-isolation", "--target", str(target)),
                *PACKAGES["deepspeed"],
            )
        return {"PYTHONPATH": str(target)}


def run_job(
    options: argparse.Namespace,
    job: str,
    means: str,
    more: dict[str, str],
    memory: int = 0,
    layers: int | None = None,
    trace: Path | None = None,
) -> Run:
    """Makes one simulated run; `means` is one of vramstow's or of the program's own techniques,
    `memory` is the GPU's memory. The trace is kept in the folder `trace` if there is one."""
    card = f"{CARD},{options.spec}" + (f",memory={memory // MEBIBYTE}MiB" if memory else "")
    ours = ["--pool=on", OURS[means]] if means in OURS else []
    program = [sys.executable, str(HERE / "moves_job.py"), job]
    own = {name: "plain" for name in OURS} | {FEW: "checkpoints"}
    steps = min(options.steps, 4) if means in ON_HOST else options.steps
    program += [own.get(means, means), "--steps", str(steps)]
    program += [] if layers is None else ["--layers", str(layers)]
    program += ["--tiny"] if options.tiny else []
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"--simulate={card}", f"--trace-dir={trace or folder}", "--json", *ours]
        try:
            done = subprocess.run(
                [str(BUILD / "bin/vramstow"), "run", *flags, "--", *program],
                env=os.environ | ({} if ours else EXPANDABLE) | more,
                capture_output=True,
                text=True,
                check=False,
                timeout=options.limit,
            )
        except subprocess.TimeoutExpired:
            return Run(why=f"no end within {options.limit} s")
    lines = (done.stdout + done.stderr).splitlines()
    return read_lines([json.loads(line) for line in lines if line.startswith("{")], done.stderr)


def read_lines(lines: list[dict[str, Any]], errors: str) -> Run:
    ends = [line["time_ns"] for line in lines if "step" in line]
    steps = [(after - before) / 1e9 for before, after in itertools.pairwise(ends)]
    run = Run(steps=steps, ends=ends)
    words = [line for line in errors.splitlines() if not line.startswith("{")]
    for line in lines:
        if "out_of_memory" in line:
            run.why = "OOM"
        if "allocated_bytes" in line:
            run.held = line
        if "schema" in line:
            run.offload = line.get("offload")
    if run.held:
        told = [line for line in lines if "step" in line]
        later = len(run.steps) - len(run.steps) // 2
        run.seconds = sum(run.steps[-later:]) / later
        run.traffic = {
            name: (told[-1][name] - told[-1 - later][name]) / later
            for name in ("link_read_bytes", "out_bytes", "in_bytes", "wait_ns")
            if name in told[-1]
        }
        return run
    run.said = words[-8:]
    if any(word in line for word in NO_MEMORY for line in words):
        run.why = "OOM"
    elif not run.why:
        run.why = next((line for line in reversed(words) if "Error" in line), "it said nothing")
    return run


def applies(job: str, means: str) -> bool:
    kind = "inference" if job in INFERENCE else "training"
    return means in OURS or BY_HAND[means] in (kind, "both")


class Table:
    """All runs of a job."""

    def __init__(self, options: argparse.Namespace, packages: Packages, job: str) -> None:
        self._options, self._packages, self._job = options, packages, job
        self._known: dict[str, dict[str, Any]] = {}  # other techniques' runs by GPU memory
        with tempfile.TemporaryDirectory() as folder:
            self.reference = self._run("plain", trace=Path(folder))
            if self.reference.seconds is None:
                raise SystemExit(f"{job} does not run on a large GPU: {self.reference.why}")
            trace = next(Path(folder).glob("*.stow"))
            self._levels = moves_bound.levels_of(BUILD / "bin/vramstow", trace)
        held = self.reference.held
        self.peak_bytes = held["allocated_bytes"]
        self.rows = [self._row(factor, held["outside_bytes"]) for factor in options.factors]
        if options.known:
            self._take_known(json.loads(options.known.read_text()))

    def _take_known(self, facts: dict[str, Any]) -> None:
        for job in facts["jobs"]:
            if job["job"] != self._job or job["reference"]["steps"] != self.reference.steps:
                continue
            for row in job["rows"]:
                for means, run in row["runs"].items():
                    if means in BY_HAND and "Error" not in run["why"]:
                        self._known.setdefault(means, {})[str(row["memory_bytes"])] = run

    def _row(self, factor: float, outside_bytes: int) -> Row:
        room = int(self.peak_bytes / factor)
        over = self.peak_bytes - room
        seconds = self.reference.seconds or 0.0
        link_bound = max(1.0, over / LINK_BYTES_PER_SECOND / seconds)
        step_bound = moves_bound.bound(
            self._levels, self.reference.ends, room, LINK_BYTES_PER_SECOND
        )
        memory = -(-(outside_bytes + room) // MEBIBYTE) * MEBIBYTE
        return Row(self._job, factor, memory, over, seconds, link_bound, step_bound)

    def _run(self, means: str, memory: int = 0, trace: Path | None = None) -> Run:
        if means in self._known and str(memory) in self._known[means]:
            return Run(**self._known[means][str(memory)])
        try:
            more = self._packages.environment(means)
        except OSError as error:
            return Run(why=f"not tried: {error}")
        if means == FEW:
            run = self._fewest(memory)
        else:
            run = run_job(self._options, self._job, means, more, memory, trace=trace)
        if run.seconds is not None and means in ON_HOST and self._job not in INFERENCE:
            parameters = run.held["parameters"]
            run.seconds += parameters * HOST_BYTES_PER_PARAMETER / HOST_BYTES_PER_SECOND
        told = f"{run.seconds * 1e3:.1f} ms" if run.seconds is not None else run.why
        size = f"{memory / 2**30:.2f} GiB" if memory else "a large GPU"
        print(f"{self._job}, {means}, {size}: {told}", file=sys.stderr, flush=True)
        return run

    def _fewest(self, memory: int) -> Run:
        """Runs with checkpoints of the fewest layers with which the job fits."""

        def run(layers: int) -> Run:
            run = run_job(self._options, self._job, FEW, {}, memory, layers)
            run.layers = layers
            return run

        best = run(most := self.reference.held["layers"])
        too_few = 0
        while best.seconds is not None and most - too_few > 1:
            tried = run((most + too_few) // 2)
            if tried.seconds is None:
                too_few = (most + too_few) // 2
            else:
                best, most = tried, (most + too_few) // 2
        return best

    def fill(self, means: str) -> None:
        """From the largest card down: where memory ran out for a program's own means, it does on a
        smaller one. What has its optimizer on the host takes minutes: it begins with the smallest,
        and its time is the same on the others."""
        known: Run | None = None
        roomiest = sorted(self.rows, key=lambda row: -row.memory_bytes)
        for row in reversed(roomiest) if means in ON_HOST else roomiest:
            if not applies(self._job, means):
                known = Run(why="for other jobs")
            elif known is None or self._asks_again(means, known):
                known = self._run(means, row.memory_bytes)
            row.runs[means] = known

    @staticmethod
    def _asks_again(means: str, known: Run) -> bool:
        if means in ON_HOST:
            return known.why == "OOM"
        return means in OURS or known.seconds is not None

    def markdown(self) -> list[str]:
        seconds = self.reference.seconds or 0.0
        peak = self.peak_bytes / 2**30
        what = "tiny" if self._options.tiny else JOBS[self._job]
        head = f"**{self._job}**: {what}; peak {peak:.1f} GiB, a step {seconds * 1e3:.1f} ms"
        lines = [head, "", "| | " + " | ".join(f"{row.factor:g} x" for row in self.rows) + " |"]
        lines += ["|---|" + "---|" * len(self.rows)]
        for name in ("link", "step"):
            bounds = [getattr(row, f"{name}_bound") for row in self.rows]
            lines += [f"| *{name} bound* | " + " | ".join(f"*{one:.2f}*" for one in bounds) + " |"]
        for means in self.rows[0].runs:
            if not applies(self._job, means):
                continue
            cells = " | ".join(self._cell(row, means) for row in self.rows)
            lines += [f"| {means} | {cells} |"]
        return [*lines, ""]

    @staticmethod
    def _cell(row: Row, means: str) -> str:
        run = row.runs[means]
        if run.seconds is None:
            return "not tried" if run.why.startswith("not tried") else run.why
        best = min(run.seconds for run in row.runs.values() if run.seconds is not None)
        told = f"{run.seconds / row.reference:.2f}"
        return f"**{told}**" if run.seconds <= best * 1.005 else told

    def facts(self) -> dict[str, Any]:
        return {
            "job": self._job,
            "peak_bytes": self.peak_bytes,
            "reference": dataclasses.asdict(self.reference),
            "rows": [dataclasses.asdict(row) for row in self.rows],
        }


def names(known: dict[str, str]) -> Callable[[str], list[str]]:
    def chosen(text: str) -> list[str]:
        wanted = text.split(",")
        for name in wanted:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(known)}")
        return wanted

    return chosen


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one job and two factors")
    parser.add_argument("--jobs", type=names(JOBS), metavar="JOB,…", help=", ".join(JOBS))
    parser.add_argument("--factors", metavar="F,…", help="peak ÷ room of the card")
    means = {name.replace(", ", ":"): "" for name in [*OURS, *BY_HAND]}
    parser.add_argument("--means", type=names(means), metavar="MEANS,…", help=", ".join(means))
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--tiny", action="store_true", help="jobs of some MiB")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where all figures go")
    parser.add_argument(
        "--known", type=Path, metavar="FILE", help="takes what is not ours from such a file"
    )
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="keeps what pip takes")
    parser.add_argument("--limit", type=int, default=900, help="seconds of a rehearsal")
    parser.add_argument("--spec", default="clock=model,values=off", help="more of the card's SPEC")
    options = parser.parse_args()
    options.jobs = options.jobs or (["decoder"] if options.quick else list(JOBS))
    factors = options.factors or ("1.25,2" if options.quick else "1.1,1.25,1.5,2")
    options.factors = [float(factor) for factor in factors.split(",")]
    options.means = [name.replace(":", ", ") for name in options.means or means]
    return options


def main() -> int:
    options = parsed()
    with tempfile.TemporaryDirectory() as folder:
        packages = Packages((options.packages or Path(folder)).resolve())
        tables = []
        for job in options.jobs:
            table = Table(options, packages, job)
            for means in options.means:
                table.fill(means)
            print("\n".join(table.markdown()), flush=True)
            tables.append(table)
            if options.json:
                facts = {"schema": "moves", "jobs": [each.facts() for each in tables]}
                options.json.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
