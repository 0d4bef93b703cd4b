"""Checks which commit a build says that it is from: cmake/WriteBuiltFrom.cmake."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import tree

SCRIPT = tree.ROOT / "cmake/WriteBuiltFrom.cmake"


def write(root: Path, output: Path) -> str:
    """Returns the commit that the file names."""
    settings = (f"-DOUTPUT={output}", f"-DROOT={root}", "-DKIND=Debug, sanitizers address")
    subprocess.run(("cmake", *settings, "-P", SCRIPT), check=True, timeout=60)
    text = output.read_text()
    assert 'return "Debug, sanitizers address";' in text
    [commit] = re.findall(r'BuiltCommit\(\) { return "(.+)"; }', text)
    return commit


def git(folder: Path, *arguments: str) -> str:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ("git", *author, *arguments)
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_a_checkout_has_its_commit_and_a_folder_in_it_has_none(tmp_path: Path) -> None:
    root, output = tmp_path / "root", tmp_path / "built_from.cc"
    (root / "below").mkdir(parents=True)
    assert write(root, output) == "unknown"
    git(root, "init", "-q")
    assert write(root, output) == "unknown"
    git(root, "commit", "-q", "--allow-empty", "-m", "One")
    assert write(root, output) == git(root, "rev-parse", "HEAD")[:12]
    assert write(root / "below", output) == "unknown"


def test_a_file_that_says_the_same_is_left_alone(tmp_path: Path) -> None:
    output = tmp_path / "built_from.cc"
    write(tmp_path, output)
    before = output.stat().st_mtime_ns
    write(tmp_path, output)
    assert output.stat().st_mtime_ns == before
