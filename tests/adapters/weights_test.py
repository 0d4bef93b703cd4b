"""Weights are parameters in what is told of a job, however they came to the card."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]


@pytest.mark.parametrize("kind", ["copied", "assigned", "filled", "quantised", "adapted"])
def test_what_modules_hold_is_parameters(
    rehearse: Rehearse, python: str, adapter_folder: str, kind: str
) -> None:
    job = rehearse(
        python,
        OWN / "weights.py",
        kind,
        card="h200,memory=1GiB,values=off",
        env={"VRAMSTOW_ADAPTER_DIR": adapter_folder, "VRAMSTOW_CENSUS": "off"},
    )
    assert job.status == 0, job.err[-2000:]
    told = {row["category"]: row["bytes_at_peak"] for row in job.analysis()["by_category"]}
    assert told["parameters"] == pytest.approx(int(job.out.split()[-1]), rel=0.05), told
