"""Two processes share one GPU: the one that runs out of memory reports who holds the rest, from the
driver's list, and from the other one's trace if there is one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from built import facts_of, run_vramstow
from expected import EVERY

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

(JOB,) = [job for job in EVERY if job.name == "shared_card"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    card = f"--simulate=h200,memory={JOB.memory_mib}MiB"
    done = run_vramstow(
        "run", card, "--trace-dir", folder, "--", sys.executable, JOB.script, timeout=600
    )
    assert done.returncode != 0, "it has to run out of memory"
    (folder / "summary.txt").write_text(done.stderr)
    return folder


def test_the_summary_of_the_run_names_its_own_process(folder: Path) -> None:
    summary = " ".join((folder / "summary.txt").read_text().split())
    assert "Because Several processes of this run share the GPU: 1.13 GiB" in summary
    assert "At shared_card.py:13 neighbour of process " in summary


def test_the_driver_names_the_other_process(folder: Path) -> None:
    by_failure = {
        bool(facts["out_of_memory"]): facts for facts in map(facts_of, folder.glob("*.stow"))
    }
    other = by_failure[False]["process"]["pid"]
    first = by_failure[True]["advice"][0]
    assert first["id"] == "other_processes"
    assert first["place"] == first["holder"] == f"process {other}"
    assert first["bytes"] / 2**20 == pytest.approx(JOB.saves_mib, rel=0.02)


def test_all_traces_together_name_its_line(folder: Path) -> None:
    text = " ".join(
        run_vramstow("analyze", "--full", *folder.glob("*.stow"), check=True).stdout.split()
    )
    story = text.partition(" Why memory ran out ")[2]
    assert "Because Several processes of this run share the GPU: 1.13 GiB" in story
    assert "At shared_card.py:13 neighbour of process " in story
    assert "Held by process " in story


LATE = """
import subprocess
import sys

import torch

if len(sys.argv) == 1:
    kept = torch.empty(650, 2**20, dtype=torch.uint8, device="cuda")
    sys.exit(subprocess.run([sys.executable, __file__, "second"]).returncode)
if sys.argv[1] == "second":
    kept = torch.empty(600, 2**20, dtype=torch.uint8, device="cuda")
    sys.exit(subprocess.run([sys.executable, __file__, "late"]).returncode)
torch.zeros(1, device="cuda")
"""


def test_a_process_without_room_for_its_context_names_those_that_hold_the_card(
    tmp_path: Path,
) -> None:
    script = tmp_path / "late.py"
    script.write_text(LATE)
    traces = tmp_path / "traces"
    done = run_vramstow(
        *("run", "--simulate=h200,memory=1800MiB", "--trace-dir", traces),
        *("--", sys.executable, script),
        timeout=600,
    )
    assert done.returncode != 0, "it has to run out of memory"
    summary = " ".join(done.stderr.split())
    assert "Because Several processes of this run share the GPU: about 1.4" in summary
    assert "At late.py:8 <module> of process " in summary
    assert re.search(r"Held by process \d+, process \d+ Do ", summary)
    late = [facts for facts in map(facts_of, traces.glob("*.stow")) if facts["out_of_memory"]]
    assert [facts["advice"][0]["id"] for facts in late] == ["other_processes"]
