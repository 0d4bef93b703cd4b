"""A script that ends right after backward() ends with its own status."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from conftest import PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]


@pytest.mark.parametrize(("pool", "card"), [("on", "h200"), ("off", "h200,values=off")])
def test_the_status_is_the_scripts_own(
    rehearse: Rehearse, python: str, pool: str, card: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VRAMSTOW_POOL", pool)
    count = 1000 if os.environ.get("VRAMSTOW_LONG") else 15
    script = PROGRAMS / "ends_after_backward.py"
    job = rehearse(python, script, str(count), card=card, timeout=300 + 3 * count)
    assert job.out == f"{{7: {count}}}\n", job.err[-2000:]
