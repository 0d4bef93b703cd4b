"""The table of the C API, interpose/shim/api.def, has what the public header declares."""

from __future__ import annotations

import re

import tree


def test_the_table_has_every_function_of_the_public_header() -> None:
    header = (tree.ROOT / "include/vramstow/vramstow.h").read_text()
    table = (tree.ROOT / "interpose/shim/api.def").read_text()
    declared = re.findall(r"^VRAMSTOW_FUNCTION\(vramstow_(\w+),", header, re.MULTILINE)
    rows = re.findall(r"^VRAMSTOW_API\([0-9.]+, (\w+),", table, re.MULTILINE)
    assert len(rows) == len(set(rows)) > 10
    assert sorted(declared) == sorted(rows)


def test_the_start_up_hook_has_the_names_of_the_header() -> None:
    header = (tree.ROOT / "include/vramstow/framework.h").read_text()
    hook = (tree.ROOT / "python/start/sitecustomize.py").read_text()
    for macro, name in (
        ("VRAMSTOW_TORCH_ADAPTER_VARIABLE", "_FINISHED"),
        ("VRAMSTOW_TORCH_OBSERVER_VARIABLE", "_FINISHED_OBSERVER"),
        ("VRAMSTOW_TORCH_CENSUS_VARIABLE", "_FINISHED_CENSUS"),
        ("VRAMSTOW_PROGRAM_VARIABLE", "_PROGRAM"),
        ("VRAMSTOW_TORCH_INSTALL_SYMBOL", "_INSTALL"),
        ("VRAMSTOW_TORCH_OBSERVE_SYMBOL", "_OBSERVE"),
    ):
        value = re.search(rf'^#define {macro} ("\w+")', header, re.MULTILINE)
        assert value is not None, macro
        assert f"\n{name} = {value[1]}" in hook, name


def test_python_names_only_functions_that_the_library_exports() -> None:
    table = (tree.ROOT / "interpose/shim/api.def").read_text()
    rows = set(re.findall(r"^VRAMSTOW_API\([0-9.]+, (\w+),", table, re.MULTILINE))
    package = tree.ROOT / "python/vramstow"
    named = {
        name
        for path in package.glob("*.py")
        for name in re.findall(r'function\("vramstow_(\w+)"\)', path.read_text())
    }
    assert named and named <= rows | {"version"}
