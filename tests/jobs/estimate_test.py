"""vramstow.estimate of real trainings: the peak equals PyTorch's count, and the parts are right."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, run_program

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

STEPS = """
import torch

def train(batch=64, steps=2):
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        loss = model(torch.randn(batch, 2048, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with open("counted", "w") as file:
        file.write(str(torch.cuda.max_memory_reserved()))

def large():
    train(batch=1 << 16, steps=1)
"""
PARAMETERS = 4 * (2048 * 2048 + 2048) * 4


def ask(folder: Path, python: str, program: str) -> dict[str, object]:
    (folder / "steps.py").write_text(STEPS)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VRAMSTOW_")}
    done = run_program(
        python,
        "-c",
        f"import json, vramstow\nprint(json.dumps(vars({program})))",
        cwd=folder,
        env=kept | {"PYTHONPATH": str(ROOT / "python"), "VRAMSTOW_PROGRAM": str(VRAMSTOW)},
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_the_peak_of_a_training_and_its_parts(tmp_path: Path, python: str) -> None:
    told = ask(tmp_path, python, "vramstow.estimate('steps:train', 'a100')")
    assert told["fits"] and told["out_of_memory"] == 0
    parts = told["parts"]
    assert told["peak_bytes"] == sum(parts.values())
    counted = int((tmp_path / "counted").read_text())
    # The rest is memory that PyTorch did not allocate: workspaces that libraries allocate from the
    # driver.
    others = told["peak_bytes"] - parts["context"] - counted
    assert 0 <= others <= parts.get("workspaces", 0), (told, counted)
    assert parts["parameters"] == PARAMETERS
    assert parts["gradients"] == PARAMETERS
    # The optimizer's state on the GPU consists of Adam's two moments; its step counts are on the
    # host.
    assert parts["optimizer_state"] == 2 * PARAMETERS
    assert parts["context"] == 424 << 20


def test_a_training_that_is_too_large_is_told_what_it_lacks(tmp_path: Path, python: str) -> None:
    told = ask(tmp_path, python, "vramstow.estimate('steps:large', 'a100,memory=2GiB')")
    assert not told["fits"] and told["out_of_memory"] > 0
    # The job needs four activations of 512 MiB each, and the input.
    assert told["peak_bytes"] > 2 << 30
    assert told["spare_bytes"] == (2 << 30) - told["peak_bytes"] < 0
    assert told["parts"]["activations"] >= 2 << 30, told
