"""PyTorch's kernels compute the same on the simulated GPU as the CPU does."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]


def test_results_equal_those_of_the_cpu(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAMS / "compare_with_cpu.py", card="h200,emulation=64MiB")
    assert job.status == 0, job.err[-4000:]
    last = job.out.splitlines()[-1]
    compared = int(last.split()[1].rstrip(","))
    assert compared > 900, last
    assert last.endswith("differing 0"), job.out[-4000:]


# The Hopper GPU is tested with each optimizer. Each other generation of GPUs is tested with one
# optimizer.
TRAININGS = [("h200", "Adam"), ("t4", "AdamW"), ("b200", "AdamW")]
if os.environ.get("VRAMSTOW_LONG"):
    TRAININGS += [("h200", optimizer) for optimizer in ("SGD", "AdamW", "RMSprop")]
    TRAININGS += [(card, "AdamW") for card in ("rtx3090", "l4", "rtx5090")]


@pytest.mark.parametrize(("card", "optimizer"), TRAININGS)
def test_a_training_learns_as_on_the_cpu(
    rehearse: Rehearse, python: str, card: str, optimizer: str
) -> None:
    job = rehearse(python, PROGRAMS / "train_like_cpu.py", optimizer, card=card)
    assert job.status == 0, job.err[-4000:]
    losses = [tuple(map(float, line.split())) for line in job.out.splitlines()]
    assert len(losses) == 30
    for on_card, on_host in losses:
        assert on_card == pytest.approx(on_host, rel=1e-4)
    assert losses[-1][0] < 0.1 * losses[0][0]


@pytest.mark.parametrize("optimizer", ["fused", "foreach"])
def test_a_transformer_learns_as_on_the_cpu(
    rehearse: Rehearse, python: str, optimizer: str
) -> None:
    job = rehearse(python, PROGRAMS / "train_transformer.py", optimizer, card="h200,kernels=list")
    assert job.status == 0, job.err[-4000:]
    assert "without effect" not in job.err, job.err[-4000:]
    losses = [tuple(map(float, line.split())) for line in job.out.splitlines()]
    assert len(losses) == 40
    for card, host in losses:
        assert card == pytest.approx(host, rel=1e-3)
    assert losses[-1][0] < 0.1 * losses[0][0]


def test_random_numbers_follow_the_seed_and_their_distribution(
    rehearse: Rehearse, python: str
) -> None:
    program = """
import torch
def draw(seed):
    torch.manual_seed(seed)
    return (torch.randn(100000, device="cuda"), torch.rand(100000, device="cuda"),
            torch.randint(0, 10, (100000,), device="cuda"))
first, again, other = draw(1), draw(1), draw(2)
assert all(torch.equal(a, b) for a, b in zip(first, again))
assert not any(torch.equal(a, b) for a, b in zip(first, other))
normal, uniform, whole = (tensor.cpu().double() for tensor in first)
assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.02, (normal.mean(), normal.std())
assert 4 < normal.abs().max() < 7
assert abs((normal.abs() < 1).double().mean() - 0.6827) < 0.01
assert abs(uniform.mean() - 0.5) < 0.01 and 0 <= uniform.min() and uniform.max() < 1
assert abs(uniform.var() - 1 / 12) < 0.005
ones = torch.ones(100000, device="cuda", requires_grad=True)
dropped = torch.nn.functional.dropout(ones, 0.3)
dropped.sum().backward()
assert torch.equal(dropped, ones.grad) and abs((dropped == 0).double().mean() - 0.3) < 0.01
assert torch.allclose(dropped[dropped != 0], torch.tensor(1 / 0.7, device="cuda"))
counts = torch.bincount(whole.long())
assert len(counts) == 10 and (counts > 9500).all() and (counts < 10500).all(), counts
print("well")
"""
    job = rehearse(python, "-c", program)
    assert job.status == 0, job.err[-4000:]
    assert job.out == "well\n"


def test_random_numbers_of_a_captured_graph_are_others_at_each_replay(
    rehearse: Rehearse, python: str
) -> None:
    program = """
import torch
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    first, second = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
graph.replay()
before = first.clone()
graph.replay()
print(torch.equal(first, second), torch.equal(first, before), 0.4 < first.mean().item() < 0.6)
"""
    job = rehearse(python, "-c", program)
    assert job.out == "False False True\n", job.err[-4000:]


def test_kernels_without_effect_are_listed_on_request(rehearse: Rehearse, python: str) -> None:
    program = "import torch; torch.histc(torch.ones(4, device='cuda'))"
    job = rehearse(python, "-c", program, card="h200,values=off,kernels=list")
    assert job.status == 0, job.err[-4000:]
    listed = [line for line in job.err.splitlines() if " x " in line]
    assert any("Histogram" in line for line in listed), job.err[-4000:]
    assert any("FillFunctor" in line for line in listed), job.err[-4000:]
    assert job.out == ""
    job = rehearse(python, "-c", program, card="h200,kernels=list")
    assert job.status == 0, job.err[-4000:]
    assert " x " not in job.err, job.err[-4000:]  # all of its operators are computed


@pytest.mark.parametrize("option", ["emulation=off", "contents=discard"])
def test_effects_can_be_switched_off(rehearse: Rehearse, python: str, option: str) -> None:
    program = "import torch; print(torch.full((4,), 2.0, device='cuda').sum().item())"
    assert rehearse(python, "-c", program).out == "8.0\n"
    assert rehearse(python, "-c", program, card=f"h200,{option}").out == "0.0\n"


def test_a_launch_beyond_the_size_has_no_effect(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
print(torch.ones(1024, device="cuda").cpu().sum().item(),
      torch.ones(1024 * 1024, device="cuda").cpu().sum().item())
"""
    job = rehearse(python, "-c", program, card="h200,emulation=1MiB,kernels=list")
    assert job.out == "1024.0 0.0\n"
    assert "(too large)" in job.err


def test_large_tensors_are_computed_until_the_allowance_is_spent(
    rehearse: Rehearse, python: str
) -> None:
    program = """
import torch
x = torch.ones(2000, 2000, device="cuda")
y = x + 1
print(torch.equal(y, torch.full_like(y, 2)), torch.zeros_like(y).sum().item(),
      torch.full((3000, 3000), 7.0, device="cuda").half().sum(dtype=torch.float).item(),
      torch.arange(3_000_000, device="cuda").sum().item(), (y > x).all().item(),
      round(torch.rand(1_000_000, device="cuda").mean().item(), 1))
"""
    result = "True 0.0 63000000.0 4499998500000 True 0.5\n"
    job = rehearse(python, "-c", program)
    assert job.out == result, job.err[-4000:]
    assert rehearse(python, "-c", program, card="h200,allowance=8MiB").out != result


def test_the_allowance_counts_effort_so_that_large_random_fills_are_left_out(
    rehearse: Rehearse, python: str
) -> None:
    # The simulator computes only results that are cheap enough. Copies and products of this many
    # bytes are; random numbers take 32 times as long and are left out. Small fills are always
    # computed.
    program = """
import torch
torch.manual_seed(0)
weights = torch.empty(1 << 25, device="cuda").normal_()
small = torch.empty(1 << 17, device="cuda").normal_()
ones = torch.ones(1 << 25, device="cuda") * 2
print(weights.abs().sum().item(), ones.sum().item(), 0.9 < small.std().item() < 1.1)
"""
    job = rehearse(python, "-c", program)
    assert job.out == "0.0 67108864.0 True\n", job.err[-4000:]
    more = rehearse(python, "-c", program.replace("25", "23"), card="h200,allowance=16GiB")
    assert not more.out.startswith("0.0 "), more.out


def test_what_follows_from_what_was_left_out_is_left_out_and_said(
    rehearse: Rehearse, python: str
) -> None:
    program = """
import torch
x = torch.full((2000, 2000), 3.0, device="cuda")
left_out = x @ x
x.copy_(left_out + 1)          # the sum of what was never computed
print(x.mean().item())
x.fill_(1)
print(x.mean().item())         # written again: all is well
"""
    job = rehearse(python, "-c", program, card="h200,gemm=32MFLOP,kernels=list")
    assert job.out.endswith("\n1.0\n"), job.err[-4000:]
    lines = [line for line in job.err.splitlines() if " x " in line]
    assert any("mm (too large)" in line for line in lines), job.err[-4000:]
    assert any("add" in line and line.endswith("(of what was left out)") for line in lines)
    assert any(line.endswith("1 x the host read what was left out by mm") for line in lines)


def test_indices_that_were_never_computed_do_not_stop_the_job(
    rehearse: Rehearse, python: str
) -> None:
    program = """
import torch
x = torch.ones(2000, 2000, device="cuda")
chosen = (x @ x)[0, :4].long() + 9
torch.nn.functional.embedding(chosen, torch.ones(4, 4, device="cuda"))
torch.cuda.synchronize()
print("well")
"""
    job = rehearse(python, "-c", program, card="h200,gemm=32MFLOP")
    assert job.out == "well\n", job.err[-4000:]


def test_an_index_out_of_range_stops_the_context(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
x = torch.ones(4, 4, device="cuda")
torch.nn.functional.embedding(torch.tensor([7], device="cuda"), x)
try:
    torch.cuda.synchronize()
except RuntimeError as error:
    print("assert" in str(error))
"""
    job = rehearse(python, "-c", program)
    assert job.out == "True\n", job.err[-4000:]


def test_a_captured_graph_computes_at_each_replay(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
x = torch.zeros(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    x += 1
for _ in range(3):
    graph.replay()
print(x.sum().item())
"""
    assert rehearse(python, "-c", program).out == "24.0\n"


def test_a_card_runs_the_code_that_it_would_choose(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    """A wheel without code for 8.9 runs that for 8.6, and kernels report which code it is."""
    program = tmp_path / "sort.py"
    program.write_text("""
import torch
x = torch.arange(5000, 0, -1, device="cuda", dtype=torch.float32)
assert x.sort().values[0] == 1 and x.cumsum(0)[-1] > 0
assert x.topk(3).values.tolist() == [5000, 4999, 4998]
assert (x > 10).nonzero().shape == (4990, 1) and x.unique().shape == (5000,)
print("done")
""")
    job = rehearse(python, program, card="rtx4090")
    assert (job.status, job.out) == (0, "done\n"), job.err[-4000:]


def test_a_card_that_the_wheel_has_no_code_for_is_told_so(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    program = tmp_path / "fill.py"
    program.write_text("""
import torch
oldest = min(int(name[3:].rstrip("af")) for name in torch.cuda.get_arch_list() if "sm_" in name)
if oldest <= 70:
    print("has code")
torch.ones(5, device="cuda")
""")
    job = rehearse(python, program, card="v100")
    if job.out == "has code\n":
        assert job.status == 0, job.err[-4000:]
        pytest.skip("this wheel has code for the card")
    assert job.status != 0
    assert "no kernel image is available for execution on the device" in job.err, job.err[-4000:]


def test_large_copies_are_kept_as_far_as_there_is_room_and_else_said(
    rehearse: Rehearse, python: str
) -> None:
    program = textwrap.dedent("""
        import torch
        model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024, bias=False) for _ in range(4)))
        sums = [float(layer.weight[0].double().sum()) for layer in model]
        model.cuda()
        for layer, right in zip(model, sums):
            print(abs(float(layer.weight[0].double().sum()) - right) < 1e-9)
    """)
    kept = rehearse(python, "-c", program)
    assert kept.out.split() == ["True"] * 4, kept.err
    assert "not computed" not in kept.err
    job = rehearse(python, "-c", program, card="h200,contents=18MiB")
    assert job.out.split() == ["True", "True", "False", "False"], job.err
    said = re.findall(r"^vramstow: .* a copy beyond contents=18MiB .*keep.*", job.err, re.MULTILINE)
    assert len(said) == 1
    again = (
        r"not valid +the program read 2 values that were not computed, the first of a copy beyond"
    )
    assert re.search(again, job.err)


NOT_EXACT = (
    r"  not exact +a size depended \d+ times on a result that was not computed, "
    r"first of addmm in .*:22 "
)
NOT_EXACT += (
    r"mine: memory may differ from that on a real GPU; values=all in --simulate computes it"
)


def test_sizes_that_values_decide_are_those_of_a_rehearsal_that_computes_all(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, PROGRAMS / "mined_pairs.py")
    assert job.status == 0, job.err[-4000:]
    assert "not computed" not in job.err
    assert job.out == rehearse(python, PROGRAMS / "mined_pairs.py", card="h200,values=all").out


@pytest.mark.parametrize("mode", ["on", "off"])
def test_sizes_that_follow_from_what_was_left_out_are_said(
    rehearse: Rehearse, python: str, mode: str
) -> None:
    job = rehearse(
        python,
        PROGRAMS / "mined_pairs.py",
        card="h200,gemm=32MFLOP",
        env={"VRAMSTOW_POOL": mode},
    )
    assert job.status == 0, job.err[-4000:]
    said = [line for line in job.err.splitlines() if "a size depends on" in line]
    assert len(said) == 1
    assert "a result of addmm that was not computed" in said[0]
    assert "/mined_pairs.py:22 mine)" in said[0]
    assert re.search(NOT_EXACT, job.err), job.err
    # Weights whose optimizer step was not computed keep their values. So the sizes are about those
    # of an untrained model.
    first, *others = [int(line[1:].split(",")[0]) for line in job.out.splitlines()]
    assert all(0.8 * first < other < 1.25 * first for other in others), job.out


def test_a_size_where_nothing_is_computed_is_said(rehearse: Rehearse, python: str) -> None:
    program = "import torch; print(torch.ones(9, device='cuda').nonzero().numel())"
    job = rehearse(python, "-c", program, card="h200,values=off")
    assert job.out == "0\n", job.err[-4000:]
    assert "a size depends on a result of nonzero that was not computed" in job.err
    assert "a size depended 1 time" in job.err


def test_vectors_of_some_millions_are_computed_however_often(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, PROGRAMS / "quasi_newton.py", card="h200,memory=512MiB")
    assert job.status == 1, job.out + job.err[-2000:]
    assert "OutOfMemoryError" in job.err
    assert "LBFGS.step: old_dirs" in job.err


def test_the_loss_of_a_small_network_is_computed(rehearse: Rehearse, python: str) -> None:
    program = """
import copy, torch
torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3), torch.nn.ReLU(),
    torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(9216, 128), torch.nn.ReLU(),
    torch.nn.Linear(128, 10))
pictures, digits = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
def train(net, device):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(net(pictures.to(device)), digits.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()
on_host = train(copy.deepcopy(net), "cpu")
print(abs(train(net.cuda(), "cuda") - on_host) < 1e-3)
"""
    job = rehearse(python, "-c", program)
    assert job.out == "True\n", job.out + job.err[-4000:]
    assert "not computed" not in job.err


def test_a_value_that_a_backward_pass_reads_is_told_with_a_line(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "fused.py").write_text("""
import torch
class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        product = grad @ grad
        return grad * (1 + product[0, 0].item())
""")
    program = """
import torch, fused
x = torch.ones(2000, 2000, device="cuda", requires_grad=True)
fused.Fused.apply(x).sum().backward()
"""
    job = rehearse(
        python, "-c", program, card="h200,gemm=32MFLOP", env={"PYTHONPATH": str(library)}
    )
    assert job.status == 0, job.err[-4000:]
    assert re.search(r"a result of mm that .*/site-packages/fused.py:11 \S*backward\)", job.err), (
        job.err
    )
