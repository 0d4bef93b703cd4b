"""Compares the virtual clock of simulated GPUs with published times of real GPUs: tables in
Markdown.

python bench/model_clock.py [plan] [gpt2] [moves] [NAME…]

plan    the trainings of bench/step_times.py: a step as `vramstow plan` estimates it, a step by the
        clock (`clock=model`), and the published step. Estimate and clock count the same work, so
        they must agree within 5%.

gpt2    trainings of GPT-2, most of them too small for their GPUs: the step and the memory that
        PyTorch reserved, as published and in the simulated run.

moves   published jobs that move memory, without and with the moves: the ratios of the times and of
        the memory, as published and in the simulated run.

NAME selects rows whose name begins with it. Each row takes one or two simulated runs of seconds to
minutes; no result contains the time of this machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from step_times import PROGRAM, PUBLISHED, ROOT, VRAMSTOW, Published, estimated

JOBS = ROOT / "bench/model_clock_jobs.py"
MOVES = ROOT / "bench/model_clock_moves.py"
STEPS = 5  # the first two are not measured
TOKENS = 8 * 1024  # tokens in a step of each training of GPT-2


@dataclass(frozen=True)
class Job:
    """A job of model_clock_jobs.py for the simulator, and the published values for it."""

    name: str
    card: str
    arguments: str
    seconds: float
    reserved_bytes: float


def speed_tip(name: str, arguments: str, tokens_per_second: int, reserved_gib: float) -> Job:
    """A row from rasbt/LLMs-from-scratch, ch05/10_llm-training-speed/README.md, with PyTorch 2.6.
    Twice the batch of 32, which needs 22.5 GiB, did not fit, so the A100 had 40 GB."""
    seconds = TOKENS / tokens_per_second
    return Job(name, "a100-40gb", f"gpt {arguments}", seconds, reserved_gib * 2**30)


WRITTEN = "--written-norm --written-gelu"
GPT2 = [
    Job(
        "autocast, as docs/card.md has it",
        "h100",
        "gpt --precision autocast --written-gelu --bias --tied --fused-attention",
        0.0732,
        15286e6,
    ),
    speed_tip("f32, all written out", f"--precision f32 {WRITTEN}", 12526, 26.2422),
    speed_tip("tf32", f"--precision tf32 {WRITTEN}", 27648, 26.2422),
    speed_tip("fused AdamW", f"--precision tf32 {WRITTEN} --fused-optimizer", 28399, 26.2422),
    speed_tip("bf16", f"{WRITTEN} --fused-optimizer", 45486, 13.7871),
    speed_tip("PyTorch's norm and GELU", "--fused-optimizer", 55256, 11.5645),
    speed_tip("fused attention", "--fused-optimizer --fused-attention", 91901, 5.9004),
]


@dataclass(frozen=True)
class Move:
    """A job of model_clock_moves.py, and the values published for it with offload and without."""

    name: str
    job: str
    card: str
    seconds: tuple[float, float]
    gigabytes: tuple[float, float] | None = None
    time: str = "seconds"  # the name of this time in the job's output
    memory: str = "allocated"
    is_ratio: bool = False  # only the ratio of the times is published


# The third and the fourth row were measured on an L20. The simulated run uses an L40S, which is
# related to it.
MOVED = [
    Move(
        "pytorch#174436",
        "pipeline",
        "h100",
        (256 / 44.2, 256 / 29.2),
        (45.62, 17.22),
    ),
    Move(
        "musubi-tuner#749",
        "adapters",
        "rtx5090",
        (6.7, 9.0),
        (22.0, 11.2),
        memory="used",
    ),
    Move(
        "DeepSpeed#8287",
        "checkpoints",
        "h200",
        (1.0, 1.02),
        (1.0, 0.86),
        is_ratio=True,
    ),
    Move(
        "torch_memory_saver#111, pause",
        "saver",
        "l40s",
        (4 / 2.41, 4 / 24.43),
        time="pause",
    ),
    Move(
        "torch_memory_saver#111, resume",
        "saver",
        "l40s",
        (4 / 5.32, 4 / 23.54),
        time="resume",
    ),
    Move(
        "torch_memory_saver#86, resume",
        "saver",
        "h100",
        (4.846 / 0.623, 1.0),
        time="resume",
        is_ratio=True,
    ),
]


def command(one: Published) -> list[str]:
    return [sys.executable, str(PROGRAM), *one.arguments.split(), "--steps", str(STEPS)]


def step_by_clock(card: str, program: list[str]) -> float:
    """Returns the seconds of an iteration by the clock, as `vramstow analyze` reports them."""
    with tempfile.TemporaryDirectory() as folder:
        run = [VRAMSTOW, "run", "--quiet", f"--simulate={card},clock=model"]
        subprocess.run([*run, f"--trace-dir={folder}", "--", *program], check=True)
        (trace,) = Path(folder).glob("*.stow")
        analyze = [VRAMSTOW, "analyze", "--json", trace]
        told = subprocess.run(analyze, check=True, stdout=subprocess.PIPE, text=True)
    facts: dict[str, Any] = json.loads(told.stdout)["model_clock"]
    return float(facts["step_seconds"])


def tokens(one: Published) -> int:
    words = one.arguments.split()
    return int(words[words.index("--length") + 1]) * int(words[words.index("--batch") + 1])


def is_asked_for(name: str, names: Iterable[str]) -> bool:
    return not names or any(name.startswith(each) for each in names)


def plan(names: list[str]) -> None:
    print("| training | card | published | plan | clock | clock ÷ plan | clock ÷ published |")
    print("|---|---|---|---|---|---|---|")
    for one in PUBLISHED:
        if not is_asked_for(one.name, names):
            continue
        published = tokens(one) / one.tokens_per_second
        by_plan = tokens(one) / estimated(one)
        by_clock = step_by_clock(f"{one.card},memory=1TiB", command(one))
        print(
            f"| {one.name} | {one.card} | {published * 1e3:.1f} ms | {by_plan * 1e3:.1f} ms "
            f"| {by_clock * 1e3:.1f} ms | {by_clock / by_plan:.3f} | {by_clock / published:.2f} |",
            flush=True,
        )


def rehearsed(card: str, arguments: str, jobs: Path = JOBS) -> dict[str, float]:
    """Runs a job in the simulator and returns the line that it prints."""
    run = [VRAMSTOW, "run", "--quiet", "--no-trace", f"--simulate={card},clock=model", "--"]
    program = [sys.executable, jobs, *arguments.split()]
    done = subprocess.run([*run, *program], check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def gpt2(names: list[str]) -> None:
    print("| GPT-2, batch 8 of 1,024 | card | published | clock | | reserved | rehearsal | |")
    print("|---|---|---|---|---|---|---|---|")
    for one in GPT2:
        if not is_asked_for(one.name, names):
            continue
        told = rehearsed(one.card, one.arguments)
        seconds, reserved = told["seconds"], told["reserved_bytes"]
        print(
            f"| {one.name} | {one.card} | {one.seconds * 1e3:.1f} ms | {seconds * 1e3:.1f} ms "
            f"| {seconds / one.seconds:.2f} | {one.reserved_bytes / 2**30:.2f} GiB "
            f"| {reserved / 2**30:.2f} GiB | {reserved / one.reserved_bytes:.2f} |",
            flush=True,
        )


def ratio(values: tuple[float, float]) -> float:
    """Returns the ratio of the larger value to the smaller one."""
    return max(values) / min(values)


def pair(values: tuple[float, float], unit: str, is_ratio: bool = False) -> str:
    """Formats two values and their ratio, as in "5.79 → 8.77 s (1.51)"."""
    if is_ratio:
        return f"({ratio(values):.2f})"
    return f"{values[0]:.3g} → {values[1]:.3g} {unit} ({ratio(values):.2f})"


def beside(found: tuple[float, float], published: tuple[float, float]) -> str:
    return f"{ratio(found) / ratio(published):.2f}"


def moves(names: list[str]) -> None:
    print("| job, without → with | card | published | clock | | published | rehearsal | |")
    print("|---|---|---|---|---|---|---|---|")
    for one in MOVED:
        if not is_asked_for(one.name, names):
            continue
        told = [rehearsed(one.card, one.job + how, MOVES) for how in ("", " --offload")]
        seconds = (told[0][one.time], told[1][one.time])
        row = f"| {one.name} | {one.card} | {pair(one.seconds, 's', one.is_ratio)} "
        row += f"| {pair(seconds, 's')} | {beside(seconds, one.seconds)} "
        if one.gigabytes is None:
            print(row + "| | | |", flush=True)
            continue
        held = (told[0][one.memory] / 1e9, told[1][one.memory] / 1e9)
        row += f"| {pair(one.gigabytes, 'GB', one.is_ratio)} | {pair(held, 'GB')} "
        print(row + f"| {beside(held, one.gigabytes)} |", flush=True)


TABLES: dict[str, Callable[[list[str]], None]] = {"plan": plan, "gpt2": gpt2, "moves": moves}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", metavar="TABLE or NAME")
    words = parser.parse_args().words
    tables = [word for word in words if word in TABLES] or list(TABLES)
    names = [word for word in words if word not in TABLES]
    for number, table in enumerate(tables):
        if number > 0:
            print()
        TABLES[table](names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
