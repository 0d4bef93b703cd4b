"""Checks the table of hooks against the vendor's own driver library: a look-up by name, version and
flag gives the function that the table names, and its wrapper."""

from __future__ import annotations

import re
from typing import NamedTuple

from built import ROOT
from conftest import told
from questions import FLAGS
from vendor import Release

HOOK = re.compile(r"VRAMSTOW_HOOK\(\s*(\w+),\s*(\w+),\s*(\d+),\s*(legacy|ptsz),")
CORE = "libvramstow-core.so"


class Row(NamedTuple):
    symbol: str
    name: str
    version: int
    own_stream: bool


def rows() -> list[Row]:
    text = "".join(
        (ROOT / "interpose/shim" / name).read_text()
        for name in ("hooks.def", "submission_hooks.def")
    )
    found = HOOK.findall(text)
    return [
        Row(symbol, name, int(version), kind == "ptsz") for symbol, name, version, kind in found
    ]


def chosen(name: str, version: int, flag: int, cuda: int) -> str | None:
    """Returns the symbol of the row for this look-up, in a driver of this version."""
    forms = [row for row in rows() if row.name == name and row.version <= cuda]
    own = [row for row in forms if row.own_stream]
    forms = own if flag & 2 and own else [row for row in forms if not row.own_stream]
    forms = [row for row in forms if row.version <= version]
    return max(forms, key=lambda row: row.version).symbol if forms else None


def test_the_library_is_the_release_and_finds_no_card(release: Release) -> None:
    assert told("start", release) == {"version": [0, release.cuda], "cuInit": [100]}


def test_no_two_functions_share_an_address(release: Release) -> None:
    assert told("shared_addresses", release) == {}


def test_each_look_up_gives_the_row_that_the_table_names(release: Release) -> None:
    answers = told("look_ups", release)
    names = sorted({row.name for row in rows()})
    assert len(names) > 130
    hooked = {row.symbol for row in rows()}
    versions = sorted({int(key.split()[1]) for key in answers if key.startswith("cuMemAlloc ")})
    wrong = {}
    for name in names:
        for version in versions:
            for flag in FLAGS:
                answer = answers[f"{name} {version} {flag}"]
                expected = chosen(name, version, flag, release.cuda)
                # `given` has the results of both forms of cuGetProcAddress; older drivers have only
                # one.
                given = {answer[-1], answer[2] if len(answer) > 2 else answer[-1]}
                # If vramstow's table has no row for a look-up, the look-up may return nothing, or
                # an old form of a function whose later forms are hooked.
                if given != {expected} and (expected is not None or given & hooked):
                    wrong[f"{name} {version} {flag}"] = (answer, expected)
    assert not wrong, list(wrong.items())[:20]


def test_the_preload_changes_no_answer_of_a_look_up(release: Release) -> None:
    plain = told("look_ups", release)
    preloaded = told("look_ups", release, preloaded=True)
    assert plain == preloaded


def test_what_is_hooked_is_ours_and_the_rest_is_the_drivers(release: Release) -> None:
    files = told("files", release, preloaded=True)
    hooked = {row.symbol for row in rows()}
    assert len(hooked & files.keys()) > 100
    for symbol, [file] in files.items():
        if symbol in hooked:
            assert file == CORE, symbol
        else:
            assert str(file).startswith("libcuda.so."), symbol
