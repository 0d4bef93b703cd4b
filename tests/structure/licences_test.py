"""Checks that REUSE.toml states the licence of each file, and that no file contradicts it."""

from __future__ import annotations

import re

import tomllib
import tree

STATEMENT = re.compile(r"SPDX-License-Identifier\W+([\w.+-]+)|\(c\) 20\d\d|Copyright 20\d\d")
LISTS = {"REUSE.toml", "tests/structure/licences_test.py", "LICENSE", "LICENSES/Apache-2.0.txt"}


def test_one_licence_covers_each_file() -> None:
    listed = tomllib.loads((tree.ROOT / "REUSE.toml").read_text())
    [annotation] = listed["annotations"]
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())["project"]
    assert annotation["path"] == "**"
    assert annotation["SPDX-License-Identifier"] == project["license"]
    text = tree.ROOT / f"LICENSES/{project['license']}.txt"
    assert text.resolve() == tree.ROOT / "LICENSE"
    assert "Apache License\n" in text.read_text()


def test_no_file_names_another_licence() -> None:
    for file in tree.files():
        name = tree.relative(file)
        if name in LISTS or not file.is_file() or (text := file.read_bytes())[:8192].count(0):
            continue
        for statement in STATEMENT.finditer(text.decode(errors="replace")):
            assert statement.group(1) == "Apache-2.0", f"{name}: {statement.group()}"
