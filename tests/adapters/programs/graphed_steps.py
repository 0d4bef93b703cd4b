"""Trains in the ways that the arguments name, in order; prints the number of steps."""

from __future__ import annotations

import sys

import torch
from torch import nn

WIDTH = 256


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).cuda()


model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
batch = torch.randn(64, WIDTH, device="cuda")


def backward() -> None:
    optimizer.zero_grad(set_to_none=True)
    model(batch).square().mean().backward()


def train() -> int:
    for _ in range(4):
        model(torch.randn(64, WIDTH, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return 4


def make_callable() -> int:
    """Warms up and captures, including backward passes, but trains nothing."""
    graphed = torch.cuda.make_graphed_callables(network(), (batch,))
    for _ in range(3):
        graphed(batch)
    return 0


def cut_off() -> int:
    for turn in range(3):
        model(torch.randn(64, WIDTH, device="cuda")).square().mean().backward()
        if turn < 2:
            optimizer.step()
    return 3


def warmed_up(work: object, times: int) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(times):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def whole() -> int:
    """Captures the step in the graph, so warm-up and each replay change the weights."""

    def work() -> None:
        backward()
        optimizer.step()

    graph = warmed_up(work, 2)
    for _ in range(7):
        batch.copy_(torch.randn(64, WIDTH))
        graph.replay()
    return 9


def outside() -> int:
    """Makes the optimizer's step after the graph."""
    graph = warmed_up(backward, 2)
    for _ in range(7):
        graph.replay()
        optimizer.step()
    return 7


WAYS = (train, make_callable, cut_off, whole, outside)
by_name = {way.__name__: way for way in WAYS}
print(sum(by_name[name]() for name in sys.argv[1:]))
