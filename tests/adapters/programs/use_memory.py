"""Runs operators, collectives, a kernel and graphs one by one, and prints what each uses.

Tests compare these with the recorded touches. The last line printed is JSON: for each case its
number N and the ranges [address, bytes] of the tensors that it reads or writes; and the ranges of
all tensors. In the trace, a block of BEGIN + N bytes is allocated before the case, and one of END +
N bytes after it. Every tensor has pages of its own. Run with --pool=on --offload=explicit,touches.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Iterable
from ctypes import byref, c_uint64, c_void_p
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F

BEGIN, END = 1_000_000, 2_000_000
N = 1280  # a matrix of floats has 6.25 MiB, so its middle is on a page of its own
Tensors = dict[str, torch.Tensor]
Case = tuple[str, Callable[[Tensors], Any], str]

KERNEL = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry of_no_operator(.param .u64 from, .param .u64 to, .param .u32 count) { ret; }
"""

torch.manual_seed(0)
device = torch.device("cuda")
driver = ctypes.CDLL("libcuda.so.1")


def square() -> torch.Tensor:
    return torch.rand(N, N, device=device)


def index() -> torch.Tensor:
    return torch.randint(0, N, (N, N), device=device)


def images() -> torch.Tensor:
    return torch.rand(8, 16, 128, 128, device=device)


def heads() -> torch.Tensor:
    return torch.rand(4, 8, 512, 128, device=device)


def lists(t: Tensors, names: str) -> list[torch.Tensor]:
    return [t[name] for name in names]


def cases() -> Iterable[Case]:
    """Returns for each case its name, its function, and the names of the tensors that it uses.

    Results are new blocks, which count as touched when they are allocated.
    """
    for name in ("add", "sub", "mul", "div", "maximum", "pow", "atan2", "fmod", "lt", "eq"):
        yield name, lambda t, name=name: getattr(torch, name)(t["a"], t["b"]), "ab"
    for name in ("exp", "log", "sqrt", "tanh", "sigmoid", "neg", "abs", "sin", "round", "relu"):
        yield name, lambda t, name=name: getattr(torch, name)(t["a"]), "a"
    yield "gelu", lambda t: F.gelu(t["a"]), "a"
    yield "silu", lambda t: F.silu(t["a"]), "a"
    yield "add_", lambda t: t["a"].add_(t["b"]), "ab"
    yield "addcmul", lambda t: torch.addcmul(t["a"], t["b"], t["c"]), "abc"
    yield "where", lambda t: torch.where(t["a"] > 0.5, t["b"], t["c"]), "abc"
    yield "clamp_", lambda t: t["a"].clamp_(0, 1), "a"
    yield "fill_", lambda t: t["a"].fill_(1), "a"
    yield "zero_", lambda t: t["a"].zero_(), "a"
    for name in ("sum", "mean", "amax", "argmax", "var", "prod", "cumsum", "logsumexp"):
        yield name, lambda t, name=name: getattr(torch, name)(t["a"], 1), "a"
    yield "norm", lambda t: torch.linalg.vector_norm(t["a"]), "a"
    yield "cat", lambda t: torch.cat(lists(t, "abc")), "abc"
    yield "stack", lambda t: torch.stack(lists(t, "ab")), "ab"
    yield "split_copy", lambda t: [part.clone() for part in t["a"].split(N // 2)], "a"
    yield "transpose_copy", lambda t: t["a"].t().contiguous(), "a"
    yield "to_half", lambda t: t["a"].half(), "a"
    yield "index_select", lambda t: torch.index_select(t["a"], 0, t["i"][0]), "ai"
    yield "gather", lambda t: torch.gather(t["a"], 1, t["i"]), "ai"
    yield "scatter_", lambda t: t["a"].scatter_(1, t["i"], t["b"]), "aib"
    yield "scatter_add_", lambda t: t["a"].scatter_add_(1, t["i"], t["b"]), "aib"
    yield "index_put_", lambda t: t["a"].index_put_((t["i"][0],), t["b"][0]), "aib"
    yield "masked_fill_", lambda t: t["w"].masked_fill_(t["m"], 0), "wm"
    yield "embedding", lambda t: F.embedding(t["i"][0], t["a"]), "ai"
    yield "sort", lambda t: torch.sort(t["a"], 1), "a"
    yield "topk", lambda t: torch.topk(t["a"], 8, 1), "a"
    yield "nonzero", lambda t: torch.nonzero(t["m"]), "m"
    yield "unique", lambda t: torch.unique(t["i"]), "i"
    yield "softmax", lambda t: torch.softmax(t["a"], 1), "a"
    yield "log_softmax", lambda t: F.log_softmax(t["a"], 1), "a"
    yield "layer_norm", lambda t: F.layer_norm(t["a"], (N,), t["a"][0], t["b"][0]), "ab"
    yield "dropout", lambda t: F.dropout(t["a"], 0.5), "a"
    yield "cross_entropy", lambda t: F.cross_entropy(t["a"], t["i"][0]), "ai"
    yield "mse_loss", lambda t: F.mse_loss(t["a"], t["b"]), "ab"
    yield "kl_div", lambda t: F.kl_div(t["a"], t["b"], reduction="sum"), "ab"
    yield "mm", lambda t: t["a"] @ t["b"], "ab"
    yield "addmm", lambda t: torch.addmm(t["c"], t["a"], t["b"]), "abc"
    yield "bmm", lambda t: torch.bmm(t["x"].flatten(0, 1), t["y"].flatten(0, 1).mT), "xy"
    yield "linear", lambda t: F.linear(t["a"], t["b"], t["c"][0]), "abc"
    yield "attention", lambda t: F.scaled_dot_product_attention(t["x"], t["y"], t["z"]), "xyz"
    yield (
        "conv2d",
        lambda t: F.conv2d(t["p"], t["a"].flatten()[: 16 * 16 * 9].view(16, 16, 3, 3)),
        "pa",
    )
    yield "max_pool2d", lambda t: F.max_pool2d(t["p"], 2), "p"
    yield "avg_pool2d", lambda t: F.avg_pool2d(t["p"], 2), "p"
    yield "interpolate", lambda t: F.interpolate(t["p"], scale_factor=0.5), "p"
    yield "foreach_add_", lambda t: torch._foreach_add_(lists(t, "ab"), lists(t, "cd")), "abcd"
    yield "copy_", lambda t: t["a"].copy_(t["b"]), "ab"
    yield "copy_to_host", lambda t: t["a"].cpu(), "a"
    yield "copy_to_device", lambda t: t["a"].copy_(t["h"]), "a"


def make_tensors() -> dict[str, Any]:
    made: dict[str, Any] = {name: square() for name in "abcd"}
    made["i"] = index()
    made["w"] = torch.rand(2 * N, 2 * N, device=device)
    made["m"] = made["w"] > 0.5
    made |= {name: heads() for name in "xyz"}
    made["p"] = images()
    made["h"] = torch.rand(N, N)
    return made


def ranges_of(value: object) -> list[tuple[int, int]]:
    if isinstance(value, torch.Tensor):
        return [(value.data_ptr(), value.nbytes)] if value.is_cuda else []
    if isinstance(value, list | tuple):
        return [one for item in value for one in ranges_of(item)]
    return []


def spend_time(spare: torch.Tensor) -> None:
    """Advances the clock of touches, so that the next touch of a page is recorded."""
    for _ in range(40):
        spare.zero_()


def mark(size: int) -> None:
    torch.empty(size, dtype=torch.uint8, device=device)


def run_optimizer(foreach: bool) -> tuple[Callable[[], Any], list[tuple[int, int]]]:
    parameters = [torch.nn.Parameter(square()) for _ in range(3)]
    optimizer = torch.optim.Adam(parameters, foreach=foreach)
    for parameter in parameters:
        parameter.grad = square()
    optimizer.step()
    states = [part for state in optimizer.state.values() for part in state.values()]
    grads = [parameter.grad for parameter in parameters]
    return optimizer.step, ranges_of([*parameters, *grads, *states])


def collectives() -> Iterable[Case]:
    """Returns the cases of a communicator of several ranks, of which only this one runs."""
    rank, world = (int(os.environ.get(name, no)) for name, no in (("RANK", 0), ("WORLD_SIZE", 1)))
    dist.init_process_group("nccl", store=dist.HashStore(), rank=rank, world_size=world)
    part = slice(N // 2, N // 2 + N // world) if world > 1 else slice(N)
    yield "all_reduce", lambda t: dist.all_reduce(t["a"]), "a"
    yield "all_gather", lambda t: dist.all_gather_into_tensor(t["a"], t["b"][part]), "ab"
    yield "reduce_scatter", lambda t: dist.reduce_scatter_tensor(t["a"][part], t["b"]), "ab"


def call(name: str, *arguments: object) -> None:
    result = getattr(driver, name)(*arguments)
    if result != 0:
        raise SystemExit(f"{name} gave {result}")


def middle_of(tensor: torch.Tensor) -> int:
    """Returns an address on a page that the tensor shares with no other."""
    return tensor.data_ptr() + tensor.nbytes // 2


def make_kernel() -> Callable[[torch.Tensor, torch.Tensor], None]:
    """Returns a kernel that comes from the driver's API and belongs to no operator."""
    module, function = c_void_p(), c_void_p()
    call("cuModuleLoadData", byref(module), KERNEL)
    call("cuModuleGetFunction", byref(function), module, b"of_no_operator")

    def launch(source: torch.Tensor, target: torch.Tensor) -> None:
        values = (c_uint64(middle_of(source)), c_uint64(middle_of(target)), ctypes.c_uint(1))
        arguments = (c_void_p * len(values))(*map(ctypes.addressof, values))
        call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)

    return launch


def make_graph(source: torch.Tensor, target: torch.Tensor) -> Callable[[], None]:
    """Returns a graph that copies, created without a capture, so that its memory is not pinned."""
    copy = (c_uint64 * 25)()  # CUDA_MEMCPY3D
    copy[4] = copy[15] = 2  # both sides are on the device
    copy[6], copy[17] = source.data_ptr(), target.data_ptr()
    copy[22], copy[23], copy[24] = source.nbytes, 1, 1
    context, graph, node, executable = c_void_p(), c_void_p(), c_void_p(), c_void_p()
    call("cuCtxGetCurrent", byref(context))
    call("cuGraphCreate", byref(graph), 0)
    call("cuGraphAddMemcpyNode", byref(node), graph, None, c_uint64(0), copy, context)
    call("cuGraphInstantiateWithFlags", byref(executable), graph, c_uint64(0))
    return lambda: call("cuGraphLaunch", executable, None)


def capture(source: torch.Tensor, target: torch.Tensor) -> torch.cuda.CUDAGraph:
    """Pins the memory of a graph, which neither the graph nor other work touches again."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        target.copy_(source)
        target.mul_(2)
    return graph


def main() -> None:
    spare = square()
    found: dict[str, tuple[int, list[tuple[int, int]]]] = {}

    def note(name: str, run: Callable[[], Any], used: list[tuple[int, int]]) -> None:
        spend_time(spare)
        number = len(found)
        mark(BEGIN + number)
        run()
        mark(END + number)
        found[name] = (number, used)

    tensors = make_tensors()
    for name, run, names in cases():
        note(name, lambda run=run: run(tensors), ranges_of([tensors[one] for one in names]))
    for foreach in (False, True):
        step, used = run_optimizer(foreach)
        note(f"adam_foreach_{foreach}", step, used)
    for name, run, names in collectives():
        note(name, lambda run=run: run(tensors), ranges_of([tensors[one] for one in names]))
    a, b, c, d = lists(tensors, "abcd")
    launch = make_kernel()
    note("kernel", lambda: launch(a, b), ranges_of([a, b]))
    note("graph", make_graph(a, b), ranges_of([a, b]))
    graph = capture(c, d)
    note("captured", graph.replay, [])
    note("pinned", lambda: torch.add(c, d, out=a), ranges_of([a]))
    torch.cuda.synchronize()
    dist.destroy_process_group()
    everything = ranges_of([*tensors.values(), spare])
    print(json.dumps({"cases": found, "tensors": everything}))


main()
