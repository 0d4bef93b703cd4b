"""The table of the C API, interpose/shim/api.def, has the functions that the public header
declares."""

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


def adapter_kinds() -> dict[str, list[str]]:
    """Returns the texts of each row of base/adapter_kinds.def, by the name of its kind."""
    table = (tree.ROOT / "base/adapter_kinds.def").read_text()
    rows = re.findall(r"^VRAMSTOW_ADAPTER_KIND\((k\w+),(.*?)\)$", table, re.MULTILINE | re.DOTALL)
    return {kind: re.findall(r'"([^"]*)"', rest) for kind, rest in rows}


def test_the_start_up_hook_has_the_names_of_the_kinds_of_adapters() -> None:
    hook = (tree.ROOT / "python/start/hook.py").read_text()
    kinds = adapter_kinds()
    names = {
        "kAllocator": ("_FINISHED", "_INSTALL"),
        "kObserver": ("_FINISHED_OBSERVER", "_OBSERVE"),
        "kValues": ("_FINISHED_VALUES", "_VALUES"),
        "kCensus": ("_FINISHED_CENSUS", "_CENSUS"),
    }
    assert set(kinds) == set(names)
    for kind, (variable, entry) in names.items():
        _, _, value, function, _ = kinds[kind]
        assert f'\n{variable} = "{value}"' in hook, kind
        assert f'\n{entry} = "{function}"' in hook, kind
    header = (tree.ROOT / "include/vramstow/framework.h").read_text()
    program = re.search(r'^#define VRAMSTOW_PROGRAM_VARIABLE ("\w+")', header, re.MULTILINE)
    assert program is not None and f"\n_PROGRAM = {program[1]}" in hook


def test_every_kind_of_adapter_has_its_entry_in_its_sources() -> None:
    for kind, (folder, _, _, entry, _) in adapter_kinds().items():
        places = [tree.ROOT / "adapters" / folder, tree.ROOT / "adapters/torch" / folder]
        if folder == "torch":
            places = places[:1]
        sources = [file for place in places for file in place.glob("*.cc")]
        assert any(f"{entry}(" in file.read_text() for file in sources), kind


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
