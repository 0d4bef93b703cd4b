"""How each file is compiled.

    python tests/structure/commands.py [--build BUILD] FILE…   compiles these, without an output
    python tests/structure/commands.py [--build BUILD] --write writes compile_commands.json here

A build compiles several files of a room as one, and its compile_commands.json names those that it
made for that. Here each file of the tree has a command of its own: for clang-tidy, for editors,
which look for compile_commands.json at the top of the tree, and to check one file without a build.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

INCLUDED = re.compile(r'^#include "(.*)"', re.MULTILINE)


def put_together(source: Path) -> list[Path]:
    """Returns the files from which the build combined a file; otherwise the file itself."""
    if source.suffix != ".cxx" or not source.is_file():
        return [source]
    return [Path(name) for name in INCLUDED.findall(source.read_text())]


def commands(build: Path) -> list[dict[str, str]]:
    """Returns the entries of the build's compile_commands.json, one for each file."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for source in put_together(Path(entry["file"])):
            command = entry["command"].replace(entry["file"], str(source))
            found.append({**entry, "file": str(source), "command": command})
    return found


def check(build: Path, file: Path) -> int:
    for entry in commands(build):
        if Path(entry["file"]).resolve() != file.resolve():
            continue
        words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
        at = words.index("-o")
        return subprocess.run(
            [*words[:at], *words[at + 2 :], "-fsyntax-only"], cwd=entry["directory"], check=False
        ).returncode
    print(f"{file} is no file that {build} compiles")
    return 1


def main() -> int:
    top = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=top / "build")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.write:
        text = json.dumps(commands(arguments.build), indent=1)
        (top / "compile_commands.json").write_text(text + "\n")
    return max((check(arguments.build, file) for file in arguments.files), default=0)


if __name__ == "__main__":
    sys.exit(main())
