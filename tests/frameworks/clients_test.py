"""Jobs of other projects' programs end as without vramstow, and their reports are right:
tests/clients.py runs this once for each client and mode."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, run_program, run_vramstow

JOBS = Path(__file__).parent
CLIENT = os.environ.get("VRAMSTOW_CLIENT", "")
PYTHON = os.environ.get("VRAMSTOW_CLIENT_PYTHON", "")
PATIENCE_S = 1500
NEAR_BYTES = 512 << 10  # tolerance for peaks
TOLERANCE = 0.05  # for parameters, optimizer state and caches
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
CHUNK = 2 << 20
TENSORS = "PyTorch's tensors"

pytestmark = pytest.mark.client


@dataclass(frozen=True)
class Run:
    """`told`: the last line that the job printed. `facts`: the analysis of its trace."""

    status: int
    err: str
    told: dict[str, Any]
    facts: dict[str, Any]


# The flags of `vramstow run`, and the arguments of the job.
MODES = {
    "observed": ([], []),
    "pooled": (["--pool=on"], []),
    "graphs": ([], ["graphs"]),
    "pooled-graphs": (["--pool=on"], ["graphs"]),
}


def rehearse(mode: str, folder: Path) -> Run:
    flags, arguments = MODES[mode]
    command = [VRAMSTOW, "run", "--simulate=h200", f"--trace-dir={folder}/traces"]
    done = run_program(
        *(*command, *flags, "--", PYTHON, JOBS / f"clients/{CLIENT}_job.py", *arguments),
        cwd=folder,
        env=os.environ | OFFLINE | {"PYTHONPATH": str(JOBS / "jobs")},
        timeout=PATIENCE_S,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    listing = run_vramstow("analyze", "--json", folder / "traces")
    facts = json.loads(listing.stdout) if listing.returncode == 0 else {}
    return Run(done.returncode, done.stderr, json.loads(lines[-1]) if lines else {}, facts)


@pytest.fixture(scope="session")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Returns the run of the job in a mode; each runs once for all tests."""

    @functools.cache
    def run(mode: str) -> Run:
        return rehearse(mode, tmp_path_factory.mktemp("run"))

    return run


@pytest.fixture
def ran(run_of: Callable[[str], Run], mode: str) -> Run:
    return run_of(mode)


def is_told(row: dict[str, Any], told: dict[str, Any]) -> bool:
    """True if the job reports the memory of this library: PyTorch's tensors or, in a program
    without PyTorch, the GPU memory of the library that it names."""
    return row["library"] == told.get("library", TENSORS)


def highest_of_told(ran: Run) -> int:
    rows = [row for row in ran.facts["by_library"] if is_told(row, ran.told)]
    return sum(row["highest_bytes"] for row in rows)


def reserved_of_others(ran: Run) -> int:
    """Returns the peak of other libraries' memory: it is part of the peak, and the job does not
    know it. The pool serves it from chunks."""
    rows = [row for row in ran.facts["by_library"] if not is_told(row, ran.told)]
    highest = [row["highest_bytes"] for row in rows]
    return sum(-(-size // CHUNK) * CHUNK for size in highest)


each_mode = pytest.mark.parametrize("mode", list(MODES))


@each_mode
def test_it_ends_as_observed(ran: Run, run_of: Callable[[str], Run]) -> None:
    assert ran.status == 0, f"status {ran.status}: {ran.err[-3000:]}"
    assert ran.told["end"] == run_of("observed").told["end"]


@each_mode
def test_peaks_are_what_the_job_says(ran: Run) -> None:
    found, told = highest_of_told(ran), ran.told["peak_allocated"]
    assert abs(found - told) <= NEAR_BYTES, f"peak allocated {found}, the job says {told}"
    # The reserved peak may include memory of other libraries, which the job does not count. It does
    # not if they allocated that memory at another time.
    reserved, least = ran.facts["peak"]["reserved_bytes"], ran.told["peak_reserved"]
    most = least + reserved_of_others(ran)
    assert least - NEAR_BYTES <= reserved <= most + NEAR_BYTES, (
        f"peak reserved {reserved}, the job says {least}, and others have {most - least}"
    )


@each_mode
def test_what_memory_is_for_is_what_the_job_says(ran: Run) -> None:
    found = {row["category"]: row["bytes_at_peak"] for row in ran.facts["by_category"]}
    names = ("parameters", "optimizer_state", "caches")
    told = {name: ran.told[name] for name in names if name in ran.told}
    wrong = [
        f"{name} {found.get(name, 0)}, the job says {size}"
        for name, size in told.items()
        if found.get(name, 0) != pytest.approx(size, rel=TOLERANCE)
    ]
    assert not wrong, "; ".join(wrong)


@each_mode
def test_iterations_are_exact_or_not_sure(ran: Run) -> None:
    found = ran.facts["iterations_found"]
    made = ran.told["iterations"]
    assert not found["is_sure"] or found["count"] == made, (
        f"{found['count']} iterations by {found['by']}, sure; the job made {made}"
    )
