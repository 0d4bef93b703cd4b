"""Every function that the vendor's library exports is hooked, or a list says why not."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from built import ROOT, run_program
from conftest import folder_of, functions
from look_ups_test import rows
from vendor import HERE, Release

FORWARDED = re.compile(r"VRAMSTOW_FORWARDED\((\w+\*?), \w+, \"")


def exported(release: Release) -> set[str]:
    """Returns the names that the dynamic linker finds in the library."""
    folder = folder_of(release)
    assert isinstance(folder, Path)
    listed = run_program(
        "nm", "-D", "--defined-only", folder / "libcuda.so.1", check=True, timeout=60
    ).stdout
    symbols = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    return {symbol for symbol in symbols if re.match("cu[A-Z]", symbol)}


def forwarded() -> list[str]:
    return FORWARDED.findall((ROOT / "interpose/shim/hooks.def").read_text())


def without_memory() -> list[str]:
    lines = (HERE / "no_memory.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def unclassified(symbols: set[str]) -> list[str]:
    patterns = forwarded() + without_memory()
    left = symbols - {row.symbol for row in rows()}
    return sorted(
        symbol for symbol in left if not any(fnmatchcase(symbol, pattern) for pattern in patterns)
    )


def test_each_exported_function_is_hooked_or_listed(release: Release) -> None:
    symbols = exported(release)
    assert len(symbols) > 400
    assert unclassified(symbols) == []


def test_the_same_for_what_the_newest_headers_name() -> None:
    assert unclassified({symbol for _, symbol, _ in functions()}) == []


def test_no_entry_of_the_lists_is_left_over() -> None:
    known = {symbol for _, symbol, _ in functions()} | {"cuMemGetAttribute"}
    for pattern in forwarded() + without_memory():
        assert any(fnmatchcase(symbol, pattern) for symbol in known), pattern
