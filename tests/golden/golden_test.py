"""The code does the same with fixed inputs as before: see tests/golden/README.md."""

from __future__ import annotations

import os

import golden
import pytest

# Prefixes of the sections that one CTest test checks; if there are none, it checks all sections.
CHOSEN = tuple(filter(None, os.environ.get("VRAMSTOW_GOLDEN", "").split(",")))


def is_chosen(section: str) -> bool:
    if section.endswith("-long"):
        return not CHOSEN or section in CHOSEN
    return not CHOSEN or section.startswith(CHOSEN)


@pytest.mark.parametrize("section", [*filter(is_chosen, golden.sections())])
def test_outputs_are_what_they_were(section: str) -> None:
    try:
        found = golden.differing(section)
    except golden.NotHereError as reason:
        pytest.skip(str(reason))
    assert not found, found


@pytest.mark.parametrize("change", ["one output differs", "one is gone", "one is new"])
def test_a_change_is_noticed(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    section = "pool-scenarios"
    now = dict.fromkeys(golden.committed(section), "as it was")
    was = dict(now)
    monkeypatch.setattr(
        golden, "committed", lambda _: {name: golden.digest(text) for name, text in was.items()}
    )
    monkeypatch.setattr(golden, "outputs", lambda *_: now)
    assert golden.differing(section) == ""
    name = sorted(now)[1]
    if change == "one is new":
        del was[name]
    elif change == "one is gone":
        del now[name]
    else:
        now[name] = "as it is"
    told = golden.differing(section)
    assert f"1 of {len(was)}" in told and name in told
    assert f"golden.py compare OTHER_BUILD {section}" in told
    assert f"golden.py renew {section}" in told
