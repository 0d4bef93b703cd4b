"""Writes the table of names that a stand-in exports, and its version script, from CUDA's headers.

The list adds names that the real library exports without declaring them, and removes names that it
does not export: lines of `+ NAME …` and `- NAME …`. It also contains names that some of the
supported headers lack, so that a stand-in exports the same names with all of them. Names that only
newer headers declare are exported, too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cuda_headers


def read_list(path: Path) -> tuple[set[str], set[str]]:
    """Returns the names to add and the names to remove."""
    signs: dict[str, set[str]] = {"+": set(), "-": set()}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] not in signs:
            raise SystemExit(f"{path}:{number}: a line begins with +, - or #")
        signs[words[0]].update(words[1:])
    return signs["+"], signs["-"]


def table(names: set[str]) -> str:
    return "".join(f"SYMBOL({name})\n" for name in sorted(names))


def version_script(names: set[str], node: str) -> str:
    """Returns the script; the node is "-" if the real library's names have no version."""
    lines = "".join(f"    {name};\n" for name in sorted(names))
    name = "" if node == "-" else node
    return f"{name} {{\n  global:\n{lines}  local: *;\n}};\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=Path, action="append", required=True)
    parser.add_argument("--header", action="append", required=True)
    parser.add_argument("--prefix", required=True, help="what names begin with, a pattern")
    parser.add_argument("--list", type=Path, required=True)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--script", nargs=2, action="append", default=[], metavar=("NODE", "FILE"))
    options = parser.parse_args()

    added, removed = read_list(options.list)
    declared = cuda_headers.function_names(
        cuda_headers.read(options.include, options.header), options.prefix
    )
    names = (declared | added) - removed
    options.table.write_text(table(names))
    for node, path in options.script:
        Path(path).write_text(version_script(names, node))


if __name__ == "__main__":
    main()
