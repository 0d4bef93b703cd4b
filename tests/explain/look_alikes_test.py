"""Programs that look like another kind of job are reported as what they are, and a healthy program
gets no useless advice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from programs import MIB, run

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")


def ids(facts: dict[str, Any]) -> set[str]:
    return {advice["id"] for advice in facts["advice"]}


KEPT_POOL = """
import torch

workspace = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(workspace):
    filled = [torch.empty(120 << 18, device="cuda") for _ in range(4)]
del filled
model = torch.empty(300 << 18, device="cuda")
batch = torch.empty(200 << 18, device="cuda")
"""


def test_a_memory_pool_is_no_captured_graph(tmp_path: Path) -> None:
    status, _, facts, screen = run(KEPT_POOL, tmp_path)
    assert status == 1
    first = facts["advice"][0]
    assert first["id"] == "mem_pool"
    assert first["bytes"] == 480 * MIB
    assert first["place"].startswith("program.py:6 ")
    assert "use_on_oom=True" in first["action"]
    assert "graph" not in screen.lower() and "fragment" not in screen.lower()


POOL_ON_OOM = """
import torch

pool = torch.cuda.MemPool(use_on_oom=True)
with torch.cuda.use_mem_pool(pool):
    filled = torch.empty(500 << 18, device="cuda")
del filled
model = torch.empty(400 << 18, device="cuda")
batch = torch.empty(450 << 18, device="cuda")
"""


@pytest.mark.parametrize("pool", ["off", "on"])
def test_what_a_memory_pool_serves_did_not_run_out(pool: str, tmp_path: Path) -> None:
    flags = (f"--pool={pool}",)
    status, summary, facts, _ = run(POOL_ON_OOM, tmp_path, memory="1200MiB", flags=flags)
    assert status == 0
    assert facts["counts"]["out_of_memory"] == 0
    assert "ran out" not in summary


SPLATS = """
import torch
from torch import nn

SIZES = {"means": 3, "scales": 3, "sh": 48}
values = {k: nn.Parameter(torch.rand(300_000, d, device="cuda")) for k, d in SIZES.items()}
optimizer = torch.optim.Adam([{"params": [p], "name": k} for k, p in values.items()])


def densify():
    for group in optimizer.param_groups:
        before = group["params"][0]
        clones = before.detach()[:60_000]
        after = nn.Parameter(torch.cat([before.detach(), clones]))
        moments = optimizer.state.get(before)
        optimizer.state[after] = {
            "step": moments["step"],
            "exp_avg": torch.cat([moments["exp_avg"], torch.zeros_like(clones)]),
            "exp_avg_sq": torch.cat([moments["exp_avg_sq"], torch.zeros_like(clones)]),
        }
        group["params"][0] = after
        values[group["name"]] = after


def main():
    for step in range(14):
        sum(v.square().mean() for v in values.values()).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        densify()


main()
"""


def test_replaced_parameters_are_no_keys_and_values(tmp_path: Path) -> None:
    status, _, facts, _ = run(SPLATS, tmp_path, census="on")
    assert status == 1
    assert "kv_cache" not in ids(facts)
    first = facts["advice"][0]
    assert first["id"] == "optimizer_state"
    assert first["fits"] is True
    assert "optimizer.state.pop(old)" in first["action"]
    assert "optimizer.state[…]" in first["holder"]


HALF_EVALUATION = """
import torch
from torch import nn

layers = [nn.Linear(2048, 2048, bias=False, device="cuda") for _ in range(24)]
net = nn.Sequential(*layers).eval()
with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
    for _ in range(4):
        net(torch.randn(8, 2048, device="cuda"))
"""


def test_copies_of_autocast_are_told_where_memory_does_not_run_out(tmp_path: Path) -> None:
    status, _, facts, screen = run(HALF_EVALUATION, tmp_path)
    assert status == 0
    (copies,) = [advice for advice in facts["advice"] if advice["id"] == "autocast_copies"]
    # Of the 24 copies, one is always read by the running operator, so only 23 count.
    assert copies["bytes"] == 23 * 8 * MIB
    assert copies["evidence"].startswith("192 MiB are copies of weights")
    assert "Could    autocast retains a" in screen


REPLAY_BUFFER = """
import collections

import torch
from torch import nn

net = nn.Linear(1024, 8).cuda()
optimizer = torch.optim.Adam(net.parameters())
seen = collections.deque(maxlen=LENGTH)
for step in range(200):
    seen.append(torch.rand(512, 1024, device="cuda"))
    if step % 5 == 4:
        net(seen[0]).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(("length", "grows"), [("120", False), ("None", True)])
def test_a_buffer_with_a_bound_does_not_grow(length: str, grows: bool, tmp_path: Path) -> None:
    program = REPLAY_BUFFER.replace("LENGTH", length)
    status, _, facts, screen = run(program, tmp_path)
    assert status == 0
    assert ("growing_memory" in ids(facts)) == grows
    assert ("something is wrong" in screen) == grows


TRIES_ALGORITHMS = """
import torch
from torch import nn

torch.backends.cudnn.benchmark = True
net = nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3)).cuda()
for step in range(6):
    net(torch.randn(8, 3, 128 + 16 * step, 128, device="cuda")).square().mean().backward()
"""


def test_pytorchs_own_calls_of_empty_cache_are_no_fault(tmp_path: Path) -> None:
    status, _, facts, screen = run(TRIES_ALGORITHMS, tmp_path, flags=("--pool=on",))
    assert status == 0
    flushes = [flush for flush in facts["cache"]["flushes"] if flush["by"] == "empty_cache"]
    assert len(flushes) >= 2
    assert {flush["line"] for flush in flushes} == {None}
    assert "stop_empty_cache" not in ids(facts)
    assert "something is wrong" not in screen


SAVED_ON_HOST = """
import torch
from torch import nn
from torch.autograd.graph import save_on_cpu

net = nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(6)]).cuda()
with save_on_cpu(pin_memory=True):
    result = net(torch.randn(32 * 1024, 512, device="cuda"))
result.square().mean().backward()
"""


def test_buffers_of_a_power_of_two_are_not_rounded(tmp_path: Path) -> None:
    status, _, facts, _ = run(SAVED_ON_HOST, tmp_path)
    assert status == 0
    assert facts["host"]["pinned_bytes"] >= 256 * MIB
    assert facts["host"]["pinned_rounding_bytes"] == 0
    assert "pinned_rounding" not in ids(facts)


SAVES_NOTHING = """
import torch
from torch import nn
from torch.nn import functional as F

net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 7)).cuda()
optimizer = torch.optim.Adam(net.parameters())
source = torch.randint(0, 20_000, (200_000,), device="cuda")
nodes = torch.randn(20_000, 64, device="cuda")
labels = torch.randint(0, 7, (20_000,), device="cuda")
for epoch in range(8):
    summed = torch.zeros_like(nodes).index_add(0, source, nodes[source])
    F.cross_entropy(net(summed), labels).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_advice_that_saves_nothing_is_not_given(tmp_path: Path) -> None:
    status, _, facts, screen = run(SAVES_NOTHING, tmp_path, memory="400MiB")
    assert status == 0
    for advice in facts["advice"]:
        assert advice["replayed_bytes"] != 0, advice
    peak = facts["peak"]["reserved_bytes"]
    best = max((advice["replayed_bytes"] or 0 for advice in facts["advice"]), default=0)
    saves = "Could " in screen and "larger batch" not in screen
    assert saves == (best * 10 >= peak)
