"""What a rehearsal computes is what the CPU computes, and it changes no allocation."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import EXAMPLES, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAMS = Path(__file__).parent / "programs"
CARD = "h200,values=decide"
# Operations that the simulated libraries refuse, by the name that the rehearsal says.
REFUSED = {"svd_values", "qr", "eigh"}


def test_operations_on_small_tensors_give_what_the_cpu_gives(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, PROGRAMS / "run_operations.py", card=CARD, timeout=600)
    assert job.status == 0, job.err[-4000:]
    found: dict[str, str] = json.loads(job.out.splitlines()[-1])
    assert len(found) >= 300
    wrong = {name: why for name, why in found.items() if why and name not in REFUSED}
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())


@pytest.mark.parametrize("pool", ["on", "off"])
def test_a_tensor_can_be_printed(
    rehearse: Rehearse, python: str, pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VRAMSTOW_POOL", pool)
    program = "import torch; print(torch.arange(9.0, device='cuda').reshape(3, 3) / 2)"
    job = rehearse(python, "-c", program, card=CARD)
    assert job.status == 0, job.err[-4000:]
    assert "[3.0000, 3.5000, 4.0000]" in job.out, job.out


def test_an_index_out_of_range_is_an_assertion_of_the_card(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
rows = torch.ones(4, 2, device="cuda")
try:
    print(rows[torch.tensor([1, 7], device="cuda")].sum().item())
except RuntimeError as error:
    print("refused", "assert" in str(error).lower())
"""
    job = rehearse(python, "-c", program, card=CARD)
    assert "refused True" in job.out, job.out + job.err[-2000:]


def test_a_captured_graph_computes_at_each_replay(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
x = torch.ones(4, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    y = (x * 2).cumsum(0)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = (x * 2).cumsum(0)
for start in (1.0, 3.0):
    x.fill_(start)
    graph.replay()
    print(y.tolist())
"""
    job = rehearse(python, "-c", program, card=CARD)
    assert job.status == 0, job.err[-4000:]
    assert job.out.splitlines() == ["[2.0, 4.0, 6.0, 8.0]", "[6.0, 12.0, 18.0, 24.0]"]


def test_what_is_too_large_reads_as_zeros(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
x = torch.ones(1 << 20, device="cuda")
torch.cuda.synchronize()
print((x + 1)[:3].tolist(), (x[:3] + 1).tolist())
"""
    job = rehearse(python, "-c", program, card="h200,values=decide,effects=64KiB,allowance=0")
    assert job.status == 0, job.err[-4000:]
    assert job.out.strip() == "[0.0, 0.0, 0.0] [1.0, 1.0, 1.0]", job.out


def calls_of(job: Rehearsal) -> list[tuple[str, str, str, str]]:
    """Every call of a rehearsal about memory of the card, but for when it was made."""
    (ledger,) = [path for path in job.ledgers if path.stat().st_size > 200]
    with ledger.open() as file:
        return [
            (row["call"], row["bytes"], row["result"], row["device"])
            for row in csv.DictReader(file)
            # The loader's thread pins memory of the host whenever it comes to it.
            if row["device"] != "-1"
        ]


def test_allocations_are_those_of_a_rehearsal_without_values(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    script = EXAMPLES / "transformer.py"
    with_values = calls_of(rehearse(python, script, "--steps", "2", card=CARD))
    for left in tmp_path.iterdir():
        left.unlink()
    without = calls_of(rehearse(python, script, "--steps", "2", card="h200,values=off"))
    assert len(with_values) > 50
    assert with_values == without
