"""An event query answers as a real GPU would after the same time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import PROGRAMS, Rehearsal

Rehearse = Callable[..., Rehearsal]


def test_a_prefetcher_holds_the_batches_of_a_card(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "prefetch.py")
    assert job.status == 0, job.err[-4000:]
    assert job.out.split() == ["64", "186"], job.out


# 64 MiB take 1.2 ms on an H200, 512 MiB take 10 ms on it and 45 ms on a V100. A pause may be longer
# than requested.
@pytest.mark.parametrize(
    ("card", "mebibytes", "pause", "least", "most"),
    [
        ("h200", 64, 50, 1, 1),
        ("h200", 64, 5, 1, 1),
        ("h200", 512, 5, 1, 2),
        ("v100", 512, 5, 3, 9),
    ],
)
def test_who_polls_sees_a_copy_end_as_the_link_lets_it(
    rehearse: Rehearse, python: str, card: str, mebibytes: int, pause: int, least: int, most: int
) -> None:
    job = rehearse(
        python, PROGRAMS / "polled_copy.py", str(mebibytes), str(pause), card=f"{card},values=off"
    )
    assert job.status == 0, job.err[-4000:]
    # A pause is longer if others use the processors, so one of the copies suffices.
    copies = [line.split() for line in job.out.splitlines()]
    assert any(at_once == "False" and least <= int(turns) <= most for at_once, turns in copies), (
        job.out
    )
