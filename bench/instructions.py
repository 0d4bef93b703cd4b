"""Counts the instructions of benchmarks for each operation, in two trees.

python bench/instructions.py BEFORE AFTER [--filter PATTERN] [--only BENCH]

BEFORE and AFTER are trees whose build/ (--build) has pool_bench, recorder_bench and
traced_pool_bench. Each is compiled once more with a fixed number of iterations, and runs under
valgrind (cachegrind, without caches) with few and with many: the difference of the two counts,
divided by the difference of the iterations, is the cost of one iteration. So the code before and
after the loop has no effect, nor has the load of the machine. All threads are counted; benchmarks
with several threads are left out, because the counts of threads that wait for a lock vary.

It needs valgrind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Case:
    """One benchmark, the meaning of one of its iterations, and how many are run."""

    bench: str
    name: str
    iteration: str
    few: int
    many: int
    operations: int = 1


CASES = (
    *(
        Case("pool_bench", f"HitPair/{size}/real_time/threads:1", "a pair", 20_000, 120_000)
        for size in (512, 1 << 20, 64 << 20)
    ),
    *(
        Case(
            "pool_bench",
            f"RandomReplacement/{high}/real_time/threads:1",
            "a free and an allocation",
            20_000,
            120_000,
        )
        for high in (20, 26)
    ),
    *(
        Case("pool_bench", f"ManyLive/{live}", "a free and an allocation", 20_000, 120_000)
        for live in (1_000, 10_000, 100_000)
    ),
    Case("pool_bench", "FillAndEmpty/1000", "an allocation and a free", 50, 150, 1_000),
    *(
        Case("recorder_bench", f"BM_Record/{way}/real_time/threads:1", "an event", 50_000, 450_000)
        for way in (0, 1)
    ),
    *(
        Case("recorder_bench", f"BM_RecordAfterTheDiskIsFull/{late}", "an event", 50_000, 450_000)
        for late in (0, 1)
    ),
    Case("recorder_bench", "BM_Read", "an event that is read", 1, 3, 2_000_000),
    *(
        Case("traced_pool_bench", f"TracedPair/{traced}/{size}", "a pair", 20_000, 120_000)
        for traced in (0, 1)
        for size in (512, 1000, 1 << 20)
    ),
)


def fixed(source: str) -> str:
    """Returns the benchmark's source with as many iterations as $VRAMSTOW_ITERATIONS says and no
    repetitions."""
    source = re.sub(r"->(Iterations|Repetitions)\([^)]*\)", "", source)
    source = re.sub(
        r"^BENCHMARK\((\w+)\)",
        r'BENCHMARK(\1)->Iterations(std::atoll(std::getenv("VRAMSTOW_ITERATIONS")))',
        source,
        flags=re.MULTILINE,
    )
    return "#include <cstdlib>\n" + source


def compile_fixed(tree: Path, build: Path, bench: str, folder: Path) -> Path:
    """Compiles and links it in the same way as the build of the tree."""
    path = tree / f"bench/{bench}.cc"
    copy = folder / f"{bench}.cc"
    copy.write_text(fixed(path.read_text()))
    entry = next(
        one
        for one in json.loads((build / "compile_commands.json").read_text())
        if Path(one["file"]) == path
    )
    words = shlex.split(entry["command"])
    if words[0].endswith("ccache"):
        words = words[1:]
    unit = words[words.index("-o") + 1]
    compiled = folder / f"{bench}.o"
    words[words.index("-o") + 1] = str(compiled)
    words[words.index(str(path))] = str(copy)
    subprocess.run(words, cwd=entry["directory"], check=True)
    listing = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", f"bin/{bench}"],
        check=True,
        capture_output=True,
        text=True,
    )
    link = next(line for line in listing.stdout.splitlines() if f"-o bin/{bench} " in line)
    program = folder / bench
    link = link.replace(unit, shlex.quote(str(compiled)))
    link = link.replace(f"-o bin/{bench} ", f"-o {shlex.quote(str(program))} ")
    subprocess.run(link, shell=True, cwd=build, check=True)
    return program


def count(program: Path, name: str, iterations: int) -> int:
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]
    command += ["--cachegrind-out-file=/dev/null", str(program), f"--benchmark_filter=^{name}$"]
    ran = subprocess.run(
        command,
        env={**os.environ, "VRAMSTOW_ITERATIONS": str(iterations)},
        capture_output=True,
        text=True,
    )
    found = re.search(r"I +refs: +([\d,]+)", ran.stderr)
    # The output must contain the name, because a name that matches no benchmark would count
    # nothing.
    if ran.returncode != 0 or found is None or name not in ran.stdout:
        raise SystemExit(f"{' '.join(command)} failed:\n{ran.stdout}{ran.stderr}")
    return int(found[1].replace(",", ""))


def each(program: Path, case: Case) -> float:
    name = case.name
    # A fixed number of iterations is part of a benchmark's name.
    whole = re.sub(r"(/real_time|$)", "/iterations:{}\\1", name, count=1)
    counts = [count(program, whole.format(n), n) for n in (case.few, case.many)]
    return (counts[1] - counts[0]) / (case.many - case.few) / case.operations


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=HERE)
    parser.add_argument("--build", default="build", help="folder in each tree")
    parser.add_argument("--only", metavar="BENCH", help="one of the programs")
    parser.add_argument("--filter", default="", metavar="PATTERN", help="of benchmarks' names")
    arguments = parser.parse_args()
    cases = [
        case
        for case in CASES
        if arguments.only in (None, case.bench) and re.search(arguments.filter, case.name)
    ]
    if not cases:
        raise SystemExit("No benchmark has such a name; bench/instructions.py lists them: CASES.")
    trees = [arguments.before.resolve(), arguments.after.resolve()]
    with tempfile.TemporaryDirectory() as name:
        programs: dict[tuple[int, str], Path] = {}
        for side, tree in enumerate(trees):
            folder = Path(name) / str(side)
            folder.mkdir()
            for bench in sorted({case.bench for case in cases}):
                build = tree / arguments.build
                programs[side, bench] = compile_fixed(tree, build, bench, folder)
        print("| benchmark | counted | before | after | |\n|---|---|---|---|---|")
        for case in cases:
            before, after = (each(programs[side, case.bench], case) for side in (0, 1))
            print(
                f"| {case.bench} {case.name.replace('/real_time/threads:1', '')} | "
                f"{case.iteration} | {before:.1f} | {after:.1f} | {after / before - 1:+.1%} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
