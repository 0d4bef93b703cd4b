"""The names that docs/stability.md promises are there, and new ones are kept from now on."""

from __future__ import annotations

import pytest
import stable

KINDS = sorted(stable.kept_names())


@pytest.fixture(scope="module")
def now() -> dict[str, list[str]]:
    return stable.current_names()


@pytest.mark.parametrize("kind", KINDS)
def test_no_stable_name_is_gone(kind: str, now: dict[str, list[str]]) -> None:
    gone = [name for name in stable.kept_names()[kind] if name not in now[kind]]
    assert not gone, f"{kind}: docs/stability.md says how a name is deprecated first"


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_name_is_kept(kind: str, now: dict[str, list[str]]) -> None:
    new = [name for name in now[kind] if name not in stable.kept_names()[kind]]
    assert not new, f"{kind}: python tests/tools/stability/stable.py"


def test_every_kind_has_names(now: dict[str, list[str]]) -> None:
    assert now.keys() == stable.kept_names().keys()
    least = {"command line": 100, "environment": 30, "C API": 60, "Python": 40,
             "control socket": 9, "Prometheus": 40}  # fmt: skip
    assert {kind: len(names) >= least[kind] for kind, names in now.items()} == dict.fromkeys(
        now, True
    )
