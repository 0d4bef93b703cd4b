"""Reports how much of the pool, the tracer and the readers the C++ tests reach, by gcov.

    python tests/coverage.py [--json] [BUILD]     BUILD: of the preset "coverage", build-coverage

It builds nothing. `tests/run --coverage` configures, builds, runs the tests and ends with this
report. Code in headers is counted if any of the compiled files reached it. Processes that crash or
are killed on purpose leave no counts, so code that only they run is reported as not reached.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The parts that are reported, and the folders whose files count; objects may be compiled anywhere.
PARTS = {
    "pool": ("allocator/",),
    "tracer": ("tracer/",),
    "readers": ("tracer/format/", "tools/formats/", "tools/inputs/"),
}


@dataclass
class File:
    """The number of times that each line and branch was reached, over all objects."""

    lines: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    branches: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))


def read(objects: list[Path], build: Path) -> dict[str, File]:
    files: dict[str, File] = defaultdict(File)
    for data in objects:
        said = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities", data],
            capture_output=True,
            text=True,
            check=True,
            cwd=build,
        ).stdout
        for document in map(json.loads, filter(None, said.splitlines())):
            for entry in document["files"]:
                path = (build / entry["file"]).resolve()
                if not path.is_relative_to(ROOT):
                    continue
                file = files[str(path.relative_to(ROOT))]
                for line in entry["lines"]:
                    number = line["line_number"]
                    file.lines[number] += line["count"]
                    # Branches that are taken only by an exception are not written in the source, so
                    # they do not count.
                    written = [b for b in line["branches"] if not b["throw"]]
                    for place, branch in enumerate(written):
                        file.branches[number, place] += branch["count"]
    return files


def share(counts: list[int]) -> float:
    return sum(count > 0 for count in counts) / len(counts) if counts else 1.0


def summary(files: dict[str, File]) -> dict[str, dict[str, object]]:
    parts: dict[str, dict[str, object]] = {}
    for part, folders in PARTS.items():
        chosen = {name: file for name, file in files.items() if name.startswith(folders)}
        lines = [count for file in chosen.values() for count in file.lines.values()]
        branches = [count for file in chosen.values() for count in file.branches.values()]
        parts[part] = {
            "files": len(chosen),
            "lines": len(lines),
            "line_share": share(lines),
            "branches": len(branches),
            "branch_share": share(branches),
            "least": sorted(
                ([name, share(list(file.lines.values()))] for name, file in chosen.items()),
                key=lambda entry: entry[1],
            )[:5],
        }
    return parts


def table(parts: dict[str, dict[str, object]]) -> str:
    text = f"{'':10}{'files':>7}{'lines':>9}{'reached':>9}{'branches':>10}{'reached':>9}\n"
    for name, part in parts.items():
        text += (
            f"{name:10}{part['files']:>7}{part['lines']:>9}{part['line_share']:>9.1%}"
            f"{part['branches']:>10}{part['branch_share']:>9.1%}\n"
        )
    text += "least reached:\n"
    for part in parts.values():
        for name, reached in part["least"]:  # type: ignore[attr-defined]
            text += f"  {reached:>6.1%}  {name}\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build-coverage")
    parser.add_argument("--json", action="store_true", help="as JSON on one line")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    objects = sorted(build.rglob("*.gcda")) if build.is_dir() else []
    if not objects:
        print(f"{build} has no counts: run tests/run --coverage.", file=sys.stderr)
        return 2
    parts = summary(read(objects, build))
    print(json.dumps(parts) if arguments.json else table(parts), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
