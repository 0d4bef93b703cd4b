"""Checks what a simulated run records about a GPU's work, and the times of vramstow plan."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, run_program
from conftest import PROGRAMS

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

DECODER = PROGRAMS / "planned_decoder.py"
# The sequence length that planned_decoder.py uses.
LENGTH = 128

ONE_OF_EACH = """
import torch
from torch.nn import functional
host = torch.ones(64, 128, pin_memory=True)
left = host.cuda()
torch.backends.cuda.matmul.allow_tf32 = True
product = left @ torch.ones(128, 32, device="cuda")
torch.backends.cuda.matmul.allow_tf32 = False
half = product.half() @ torch.ones(32, 16, device="cuda", dtype=torch.half)
half @ torch.ones(16, 9, device="cuda", dtype=torch.half)
query = torch.ones(2, 4, 64, 32, device="cuda", dtype=torch.half)
functional.scaled_dot_product_attention(query, query, query)
functional.scaled_dot_product_attention(query, query, query, is_causal=True)
# The slice has 100 of the tensor's 400 columns.
part = torch.ones(100, 400, device="cuda")[:, :100] + 1
part.cpu()
inputs = torch.ones(7, 5, 16, device="cuda")
torch.nn.LSTM(16, 32, device="cuda")(inputs)[0].sum().backward()
torch.cuda.nccl.all_reduce([torch.empty(1000, device=f"cuda:{card}") for card in range(2)])
"""


def test_the_work_log_has_operations_bytes_and_copies(tmp_path: Path) -> None:
    log = tmp_path / "work.csv"
    run = [VRAMSTOW, "run", "--quiet", "--no-trace", f"--simulate=h100,count=2,work-log={log}"]
    subprocess.run(
        [*run, "--", sys.executable, "-c", ONE_OF_EACH],
        check=True,
        timeout=300,
        capture_output=True,
    )
    lines = list(csv.DictReader(log.open()))
    products = [line for line in lines if line["name"] == "mm"]
    assert [(line["precision"], int(line["operations"])) for line in products] == [
        ("tf32", 2 * 64 * 128 * 32),
        ("f16", 2 * 64 * 32 * 16),
        ("f16_odd", 2 * 64 * 16 * 9),
    ]
    assert int(products[0]["read_bytes"]) == 4 * (64 * 128 + 128 * 32)
    assert int(products[0]["written_bytes"]) == 4 * 64 * 32
    attentions = [line for line in lines if "_attention" in line["name"]]
    whole = 4 * (2 * 4 * 64 * 32) * 64
    assert [int(line["operations"]) for line in attentions] == [whole, whole // 2]
    recurrent = [line for line in lines if line["name"].startswith("_cudnn_rnn")]
    forward = 2 * (7 * 5) * (4 * 32 * (16 + 32))  # four gates use the input and the state
    assert [int(line["operations"]) for line in recurrent] == [forward, 2 * forward]
    [add] = [line for line in lines if line["name"] == "add"]
    assert (int(add["read_bytes"]), int(add["written_bytes"])) == (40000, 40000)
    copies = [(line["name"], int(line["read_bytes"])) for line in lines if line["kind"] == "copy"]
    assert copies == [("to_device", 4 * 64 * 128), ("to_host", 40000)]
    # The stand-in for NCCL copies through the host. Such a copy does not count as a copy by the
    # program.
    assert [
        (line["name"], line["read_bytes"], line["items"])
        for line in lines
        if line["kind"] == "collective"
    ] == [("all_reduce", "4000", "2")] * 2
    times = [int(line["time_ns"]) for line in lines]
    assert times == sorted(times)


def plan(
    *arguments: str,
    card: str = "h100,memory=2GiB",
    places: str = "--batch {batch} --accumulate {accumulate} --checkpoint {checkpoint}",
    status: int = 0,
) -> dict[str, Any]:
    command = [VRAMSTOW, "plan", "--json", "--cards", card, *arguments]
    done = run_program(*command, "--", sys.executable, DECODER, *places.split(), timeout=580)
    assert done.returncode == status, done.stderr[-2000:]
    return json.loads(done.stdout)


WITHOUT_TOKENS = """
import sys, torch
net = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(4):
    net(torch.randn(int(sys.argv[1]), 64, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_rows_that_tokens_cannot_compare_are_said_to_be_compared_by_samples() -> None:
    options = ("--cards", "h100,memory=2GiB", "--batch", "8,16", "--tokens", "1M")
    job = (sys.executable, "-c", WITHOUT_TOKENS, "{batch}")
    done = run_program(VRAMSTOW, "plan", "--json", *options, "--", *job, check=True, timeout=300)
    notes = " ".join(json.loads(done.stdout)["notes"])
    assert "No tokens were counted" in notes
    assert notes.endswith("--tokens has no effect.")
    with_tokens = plan("--batch", "1", "--accumulate", "1", "--checkpoint", "none")
    assert "No tokens were counted" not in " ".join(with_tokens["notes"])


def test_steps_have_times_tokens_and_card_hours() -> None:
    told = plan("--batch", "8", "--accumulate", "2", "--checkpoint", "none,full", "--tokens=4M")
    rows = {row["settings"]["checkpoint"]: row for row in told["rows"]}
    for row in rows.values():
        assert row["fits"] and row["source"] == "rehearsed"
        assert row["tokens_per_step"] == 8 * 2 * LENGTH
        parts = row["step_parts"]
        assert sum(parts.values()) == pytest.approx(row["step_seconds"])
        # The model is so small that the memory's bandwidth limits each operator, and the Python
        # program takes longer than the GPU.
        assert parts["memory"] > 0 and parts["launches"] > 0 and parts["program"] > 0
        rate = row["tokens_per_second"]
        assert rate == pytest.approx(row["tokens_per_step"] / row["step_seconds"])
        assert row["card_hours"] == pytest.approx(4e6 / rate / 3600)
        assert row["step_kernels_not_estimated"] * 10 < row["step_kernels"]
    # Checkpoints compute each block once more, which counts because it was executed.
    assert rows["full"]["step_parts"]["memory"] > 1.1 * rows["none"]["step_parts"]["memory"]
    assert rows["full"]["peak_bytes"] <= rows["none"]["peak_bytes"]
    assert told["rows"][0]["settings"]["checkpoint"] == "none"
    assert any("estimates" in note for note in told["notes"])


def test_kernels_of_triton_are_counted_and_said_not_to_be_estimated() -> None:
    places = "--batch {batch} --triton 40"
    told = plan("--batch", "1", places=places)
    [row] = told["rows"]
    assert row["step_kernels_not_estimated"] >= 4 * 40
    assert row["step_kernels"] > row["step_kernels_not_estimated"]
    count = f"{row['step_kernels_not_estimated']} of {row['step_kernels']} kernels of a step"
    assert any(note.startswith(count) and "not their computation" in note for note in told["notes"])


def test_where_nothing_fits_a_hint_names_the_flag_and_what_it_promises_holds() -> None:
    card = "h100,memory=1080MiB,values=off"
    places = "--batch {batch} --layers 96 --optimizer"
    told = plan("--batch", "1,2", card=card, places=f"{places} foreach", status=1)
    assert told["rehearsals"] == 1
    assert any("8-bit state" in hint for hint in told["hints"])
    [promised] = [
        float(found[1])
        for hint in told["hints"]
        if "fused=True" in hint
        for found in [re.search(r"may fit: .* the peak is then ([0-9.]+) MiB in place of", hint)]
        if found
    ]
    [row] = plan("--batch", "1", card=card, places=f"{places} fused")["rows"]
    assert row["fits"]
    assert row["peak_bytes"] / 2**20 == pytest.approx(promised, rel=0.02)


def test_a_hint_for_a_loss_over_many_words_is_to_compute_it_in_pieces() -> None:
    card = "h100,memory=1600MiB,values=off"
    told = plan("--batch", "16,32", card=card, places="--batch {batch} --words 65536", status=1)
    pieces = [hint for hint in told["hints"] if "Compute the loss in" in hint]
    assert len(pieces) == 1, told["hints"]
    assert "In a replay of the simulated run the request that failed then succeeds." in pieces[0]
