"""Runs clang-tidy over the sources that the build compiles; the exit status is 0 without findings.

A file is checked again only if it, a header of the tree that it includes or the settings changed:
the result is stored in the build folder under a hash of all of them. The build recorded the
includes of a file when it compiled it.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import tree
from commands import commands as commands_of

# Flags of g++ that clang rejects with an error.
GCC_ONLY = ["-fno-tree-loop-distribute-patterns"]


def inclusions(build: Path) -> dict[Path, set[Path]]:
    """Returns the files of the tree that each source was compiled from, in all its compilations."""
    listing = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], check=True, capture_output=True, text=True
    ).stdout
    known = {path.resolve() for path in tree.code()}
    found: dict[Path, set[Path]] = {}
    for paragraph in listing.split("\n\n"):
        lines = [line.strip() for line in paragraph.splitlines()[1:]]
        paths = [Path(os.path.normpath(build / line)) for line in lines if line]
        # If the build combined several files into one, the result stands for the files of the tree
        # that it includes.
        own = [path for path in paths if path in known and path.suffix == ".cc"]
        for source in own:
            found.setdefault(source, set()).update(known.intersection(paths))
    return found


def fingerprint(files: set[Path], settings: bytes) -> str:
    contents = (hashlib.sha256(path.read_bytes()).digest() for path in sorted(files))
    return hashlib.sha256(settings + b"".join(contents)).hexdigest()


def main(build: Path) -> int:
    program = shutil.which("clang-tidy")
    if program is None:
        print("clang-tidy is missing: tests/run installs it")
        return 1
    build = build.resolve()
    commands = commands_of(build)
    known = {path.resolve() for path in tree.code(".cc")}
    sources = sorted({Path(entry["file"]).resolve() for entry in commands} & known)
    included = inclusions(build)
    settings = b"".join(path.read_bytes() for path in tree.files() if path.name == ".clang-tidy")
    cache = build / "clang-tidy"
    cache.mkdir(exist_ok=True)
    for entry in commands:
        for flag in GCC_ONLY:
            entry["command"] = entry["command"].replace(f" {flag}", "")
    (cache / "compile_commands.json").write_text(json.dumps(commands))

    def check(source: Path) -> str:
        mark = cache / fingerprint(included.get(source, set()) | {source}, settings)
        if mark.exists():
            return ""
        result = subprocess.run(
            [program, "--quiet", "-p", str(cache), str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode == 0:
            mark.touch()
            return ""
        return result.stdout or result.stderr

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [text for text in pool.map(check, sources) if text]
    print("\n".join(findings))
    print(f"clang-tidy: {len(sources)} files, {len(findings)} with findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
