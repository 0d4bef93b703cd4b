"""Traces with stacks have the operator, backward function and module that asked for a tensor."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from built import VRAMSTOW
from jobs_conftest import Rehearsal
from tensor_test import OWN, assert_served, tensors  # noqa: F401
from training_test import run_both

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
pytestmark = pytest.mark.long

Rehearse = Callable[..., Rehearsal]
SITES = {"VRAMSTOW_STACKS": "sites"}


def said_of_tensors(trace: Path) -> set[tuple[str, str, str]]:
    """Returns operator, backward function and module of every tensor; an empty text if one is
    unknown."""
    file = trace.with_suffix(".pickle")
    subprocess.run([VRAMSTOW, "export", trace, "--to", "snapshot", "-o", file], check=True)
    snapshot = pickle.loads(file.read_bytes())
    said = set()
    for entry in (entry for device in snapshot["device_traces"] for entry in device):
        if entry["action"] == "alloc":
            words = {frame["filename"]: frame["name"] for frame in entry["frames"]}
            parts = ("<operator>", "<backward>", "<module>")
            said.add(tuple(words.get(part, "") for part in parts))
    return said


def test_tensors_have_the_operator_and_the_module_that_made_them(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
) -> None:
    job = rehearse(python, OWN / "training.py", "decoder", env=tensors | SITES)
    assert_served(job)
    said = said_of_tensors(job.traces[0])
    assert ("aten::mm", "", "Decoder.blocks.1.queries") in said, said
    assert ("aten::silu", "", "Decoder.blocks.0") in said
    assert ("aten::index_select", "", "Decoder.words") in said
    # No Python runs in the backward pass, so its rows have the module of the forward pass.
    assert ("aten::mm", "MmBackward0", "Decoder.blocks.1.queries") in said, said
    assert any(row[1] == "SiluBackward0" and row[2] == "Decoder.blocks.0" for row in said), said
    # The optimizer's operators belong to no module.
    assert any(row[0].startswith("aten::_foreach") and row[1:] == ("", "") for row in said), said
    facts = job.analysis()
    backward = [row["site"] for row in facts["by_site"] if row["site"].startswith("backward of")]
    assert any(site.endswith(" in Decoder.blocks.*.gate") for site in backward), backward


def test_without_stacks_nothing_is_said(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
) -> None:
    program = (
        "import torch\n"
        "from torch.nn.modules import module\n"
        "torch.nn.Linear(4, 4).cuda()(torch.ones(1, 4, device='cuda')).sum().backward()\n"
        "print(len(module._global_forward_hooks), len(module._global_forward_pre_hooks))\n"
    )
    job = rehearse(python, "-c", program, env=tensors)
    assert_served(job)
    assert job.out == "0 0\n"
    assert said_of_tensors(job.traces[0]) == {("", "", "")}


@pytest.mark.parametrize(
    "way", ["lora", "checkpoint_reentrant", "checkpoint_saved", "graphs", "compile_default"]
)
def test_a_job_that_is_watched_makes_the_same_requests(
    rehearse: Rehearse,
    python: str,
    tmp_path: Path,
    tensors: dict[str, str],  # noqa: F811
    way: str,
) -> None:
    run_both(rehearse, tmp_path, tensors | SITES, [python], way)


ODD = """
import torch
from torch import nn

class Odd(nn.Module):
    \"\"\"Equals anything, so that it has no hash; fails at the second call; holds itself.\"\"\"
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.calls = 0
    def __eq__(self, other):
        return True
    def forward(self, seen):
        self.calls += 1
        seen = self.inner(seen)
        if self.calls == 2:
            raise ValueError("at the second call")
        return seen

odd = Odd().cuda()
one = torch.ones(1, 4, device="cuda")
odd(one)
try:
    odd(one)
except ValueError as error:
    print(error)
late = nn.Linear(4, 4).cuda()
kept = late(one)
traced = torch.jit.trace(nn.Sequential(nn.Linear(4, 4)).cuda(), one)
print(tuple(traced(one).shape), tuple(odd(one).shape))
"""


def test_odd_modules_change_nothing(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
) -> None:
    job = rehearse(python, "-c", ODD, env=tensors | SITES)
    assert_served(job)
    assert job.out == "at the second call\n(1, 4) (1, 4)\n"
    modules = {module for _, _, module in said_of_tensors(job.traces[0])}
    # A module call that raised an exception has ended, so later operators do not belong to it.
    assert "Linear" in modules and not any(name.startswith("Odd.inner.") for name in modules)


INTERRUPTED = """
import torch
from torch import nn

class Interrupted(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.calls = 0
    def forward(self, seen):
        self.calls += 1
        seen = self.inner(seen)
        if self.calls == 2:
            raise KeyboardInterrupt
        return seen

model = Interrupted().cuda()
one = torch.ones(1, 4, device="cuda")
model(one)
try:
    model(one)
except KeyboardInterrupt:
    print("interrupted")
kept = nn.ReLU().cuda()(one)
ended = torch.logspace(0, 1, 8, device="cuda")
model(one)
"""


def test_a_model_whose_call_was_interrupted_is_left_by_the_next_call(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
) -> None:
    job = rehearse(python, "-c", INTERRUPTED, env=tensors | SITES)
    assert_served(job)
    assert job.out == "interrupted\n"
    said = said_of_tensors(job.traces[0])
    assert {"Interrupted.inner", "ReLU"} <= {module for _, _, module in said}
    # PyTorch calls no hook at the end of such a call, so that no operator after it was outside.
    assert ("aten::logspace", "", "") in said, said
