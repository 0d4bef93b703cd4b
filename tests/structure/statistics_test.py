"""The Python package has the same statistics as the C API, under the same names."""

from __future__ import annotations

import ast
import re

import tree


def fields_of_the_header() -> list[str]:
    header = (tree.ROOT / "include/vramstow/vramstow.h").read_text()
    found = re.search(r"struct vramstow_stats \{(.*?)\n\};", header, re.DOTALL)
    assert found is not None
    without_comments = re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)
    return re.findall(r"uint64_t (\w+);", without_comments)


def fields_of_the_package() -> list[str]:
    module = ast.parse((tree.ROOT / "python/vramstow/library.py").read_text())
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name == "Stats":
            return [
                line.target.id
                for line in node.body
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
            ]
    raise AssertionError("library.py has no class Stats")


def test_the_package_has_the_fields_of_vramstow_stats_in_their_order() -> None:
    assert len(fields_of_the_header()) >= 20
    assert fields_of_the_package() == fields_of_the_header()


def test_the_table_has_them_too() -> None:
    # The compiler also compares the two, when it compiles application.cc.
    table = (tree.ROOT / "interpose/core/pools/statistics.def").read_text()
    assert re.findall(r"^STATISTIC\((\w+),", table, re.MULTILINE) == fields_of_the_header()
