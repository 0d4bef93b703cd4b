"""What the simulated card's model clock says beside what real cards took: tables in Markdown.

python bench/model_clock.py [plan] [NAME…]

plan    the trainings of bench/step_times.py: a step as `vramstow plan` estimates it, a step by the
        clock (`clock=model`), and what was published. Both count the same work, so that they have
        to agree within 5%.

NAME picks rows whose name begins so. Each row takes one or two rehearsals of seconds to minutes; no
machine's own time is in any figure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from step_times import PROGRAM, PUBLISHED, VRAMSTOW, Published, estimated

STEPS = 5  # the first two are not looked at


def command(one: Published) -> list[str]:
    return [sys.executable, str(PROGRAM), *one.arguments.split(), "--steps", str(STEPS)]


def step_by_clock(card: str, program: list[str]) -> float:
    """Seconds of an iteration by the clock, as `vramstow analyze` tells them."""
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


TABLES: dict[str, Callable[[list[str]], None]] = {"plan": plan}


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
