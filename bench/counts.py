"""Counts the size of a tree: numbers that a restructuring should lower.

python bench/counts.py [TREE] [--build BUILD] [--compile PATTERN]

It prints the lines and classes of each room (folder), includes between folders that include each
other, calls of TheCore(), lines of tables that are maintained by hand, and the seconds to compile
each room as the last build recorded them: wall time, so only results of an idle machine without
ccache can be compared. --compile compiles the files whose path matches once, and prints the
processor time for each file and room: these can be compared on a busy machine, too.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "tests/structure"))

import sizes  # noqa: E402
import tree  # noqa: E402

TABLES = (".def", ".map")


def tracked(root: Path) -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True
    )
    return [name for name in listing.stdout.splitlines() if (root / name).is_file()]


def lines_of(root: Path, names: list[str]) -> int:
    return sum(len((root / name).read_text().splitlines()) for name in names)


def circles(root: Path, names: list[str]) -> list[tuple[str, str, int]]:
    """Returns pairs of folders in a cycle of includes, with the number of includes in that
    direction."""
    arrows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name in names:
        folder = str(Path(name).parent)
        for included in tree.INCLUDE.findall((root / name).read_text()):
            other = str(Path(included).parent)
            if other != folder and (root / included).is_file():
                arrows[folder][other] += 1

    def reached(folder: str) -> set[str]:
        seen: set[str] = set()
        waiting = [folder]
        while waiting:
            for other in arrows[waiting.pop()].keys() - seen:
                seen.add(other)
                waiting.append(other)
        return seen

    return [
        (folder, other, count)
        for folder in sorted(arrows)
        for other, count in sorted(arrows[folder].items())
        if folder in reached(other)
    ]


def compile_seconds(build: Path) -> dict[str, float]:
    """Maps each room to its seconds, from the newest entry of each object."""
    newest: dict[str, float] = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output.endswith(".o"):
            newest[output] = (int(end) - int(start)) / 1000
    rooms: collections.Counter[str] = collections.Counter()
    for output, seconds in newest.items():
        rooms[output.partition("/")[0]] += seconds
    return dict(rooms)


def what_is_compiled(entry: dict[str, str]) -> str:
    """Returns a file's path in its tree; for several files compiled as one, their folder and a
    number."""
    words = shlex.split(entry["command"])
    name = words[words.index("-o") + 1].removesuffix(".o")
    return re.sub(r"CMakeFiles/[^/]+\.dir/", "", name)


def compile_once(build: Path, pattern: str) -> list[tuple[float, str]]:
    """Returns processor seconds and files, the slowest first."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if not re.search(pattern, entry["file"]):
            continue
        words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
        words[words.index("-o") + 1] = "/dev/null"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, cwd=entry["directory"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append((seconds, what_is_compiled(entry)))
    return sorted(found, reverse=True)


def print_compiled(compiled: list[tuple[float, str]]) -> None:
    rooms: dict[str, list[float]] = collections.defaultdict(list)
    for one, file in compiled:
        rooms[Path(file).parts[0]].append(one)
        print(f"{one:6.1f} s  {file}")
    for room, seconds in sorted(rooms.items()):
        print(f"{sum(seconds):6.1f} s  {room}, {len(seconds)} files")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path, nargs="?", default=HERE)
    parser.add_argument("--build", type=Path, help="default: build in the tree")
    parser.add_argument("--compile", metavar="PATTERN", help="a regular expression of paths")
    arguments = parser.parse_args()
    root = arguments.tree.resolve()
    build = arguments.build or root / "build"

    names = [name for name in tracked(root) if name.startswith(sizes.PRODUCT)]
    code = [name for name in names if name.endswith((".h", ".cc"))]
    classes, functions = sizes.measure(root, code)
    seconds = compile_seconds(build) if (build / ".ninja_log").exists() else {}
    print(f"{'room':12} {'files':>6} {'lines':>8} {'compile s':>10}  largest class")
    for room in sorted({name.partition("/")[0] for name in code}):
        members = [name for name in code if name.startswith(f"{room}/")]
        largest = max((one for one in classes if one.room == room), key=lambda one: one.lines)
        shown = f"{seconds[room]:.0f}" if room in seconds else "-"
        print(
            f"{room:12} {len(members):6} {lines_of(root, members):8} {shown:>10}  "
            f"{largest.name}, {largest.lines} lines in {len(largest.sources)} .cc"
        )
    largest = max(classes, key=lambda one: one.lines)
    print(f"longest class: {largest.name}, {largest.lines} lines ({largest.path})")
    print(f"most private functions: {max(one.private_functions for one in classes)}")
    print(f"functions past 70 lines: {sum(one.lines > 70 for one in functions)}")
    found = circles(root, code)
    print(f"includes between folders that include one another: {sum(n for *_, n in found)}")
    for folder, other, count in found:
        print(f"  {folder} -> {other}: {count}")
    calls = sum((root / name).read_text().count("TheCore()") for name in code)
    print(f"TheCore() calls: {calls}")
    tables = [name for name in names if name.endswith(TABLES)]
    print(f"lines of tables kept by hand ({', '.join(TABLES)}): {lines_of(root, tables)}")
    if arguments.compile:
        print_compiled(compile_once(build, arguments.compile))
    return 0


if __name__ == "__main__":
    sys.exit(main())
