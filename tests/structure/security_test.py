"""Checks that each test that SECURITY.md names exists."""

from __future__ import annotations

import re

import tree

PAGE = tree.ROOT / "SECURITY.md"


def test_each_test_that_the_page_names_exists() -> None:
    page = PAGE.read_text()
    sources = [
        path.read_text()
        for path in tree.files()
        if path.suffix in (".cc", ".py") and tree.relative(path).startswith("tests/")
    ]
    cases = {
        ".".join(found)
        for text in sources
        for found in re.findall(r"TEST\w*\((\w+), (\w+)\)", text)
    }
    functions = {name for text in sources for name in re.findall(r"def (test_\w+)\(", text)}
    named = set(re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", page))
    assert len(named) > 15 and not named - cases
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 8 and not named - functions
    files = set(re.findall(r"`(tests/[\w/]+\.py)`", page))
    assert files and all((tree.ROOT / name).is_file() for name in files)
