"""Runs clang-tidy over the sources that the build compiles; the exit status says the result.

A file is checked again only when it, a header of the tree or the settings changed: the result is
kept in the build folder under a hash of all of them.
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

# Flags that clang calls an error.
GCC_ONLY = ["-fno-tree-loop-distribute-patterns"]


def fingerprint(source: Path, shared: bytes) -> str:
    return hashlib.sha256(shared + source.read_bytes()).hexdigest()


def main(build: Path) -> int:
    program = shutil.which("clang-tidy")
    if program is None:
        print("clang-tidy is missing: tests/run installs it")
        return 1
    commands = json.loads((build / "compile_commands.json").read_text())
    known = {path.resolve() for path in tree.code(".cc")}
    sources = sorted({Path(entry["file"]).resolve() for entry in commands} & known)
    headers = [tree.ROOT / ".clang-tidy", *tree.code(".h", ".def")]
    shared = hashlib.sha256(b"".join(path.read_bytes() for path in headers)).digest()
    cache = build / "clang-tidy"
    cache.mkdir(exist_ok=True)
    for entry in commands:
        for flag in GCC_ONLY:
            entry["command"] = entry["command"].replace(f" {flag}", "")
    (cache / "compile_commands.json").write_text(json.dumps(commands))

    def check(source: Path) -> str:
        mark = cache / fingerprint(source, shared)
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
