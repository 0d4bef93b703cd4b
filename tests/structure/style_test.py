"""Checks the rules of style that a program can check."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
import tree


def test_sources_are_as_clang_format_writes_them() -> None:
    program = shutil.which("clang-format")
    if program is None:
        pytest.fail("clang-format is missing: tests/run installs it")
    sources = [tree.relative(path) for path in tree.code(".h", ".cc", ".c")]
    result = subprocess.run(
        [program, "--dry-run", "--Werror", *sources],
        cwd=tree.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[:4000]


def test_python_is_as_ruff_wants_it() -> None:
    sources = [tree.relative(path) for path in tree.files() if path.suffix == ".py"]
    for command in (["check", "-q"], ["format", "--check", "-q"]):
        result = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *sources],
            cwd=tree.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout[:4000] + result.stderr[:2000]


def test_headers_have_a_guard_named_after_their_path() -> None:
    for path in tree.code(".h"):
        name = tree.relative(path)
        guard = "VRAMSTOW_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper() + "_"
        guard = guard.replace("VRAMSTOW_INCLUDE_VRAMSTOW_", "VRAMSTOW_")
        assert f"#ifndef {guard}\n#define {guard}\n" in path.read_text(), f"{name} lacks {guard}"


def test_no_source_file_includes_another_source_file() -> None:
    for path in tree.code(".h", ".cc", ".c"):
        assert not re.search(r'#include\s+"[^"]+\.(cc|c)"', path.read_text()), tree.relative(path)


@pytest.mark.parametrize(
    "pattern",
    [
        r"/work/",
        r"/root/",
        r"files\.pythonhosted\.org|pypi\.org|deb\.debian\.org|download\.pytorch\.org",
        r"(?i)\bhelper-\d|\bthe lead\b|\bcolleague\b",
        r"(?i)\bFIXME\b|\bXXX\b|\bHACK\b",
    ],
)
def test_nothing_of_how_it_was_made_is_in_the_product(pattern: str) -> None:
    for path in tree.files():
        if path == tree.ROOT / "tests/structure/style_test.py" or path.suffix == ".stow":
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        match = re.search(pattern, text)
        assert match is None, f"{tree.relative(path)}: {match.group(0)!r}"
