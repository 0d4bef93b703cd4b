"""Trains a graph network on random graphs. With `graphs` it then answers from a CUDA graph."""

from __future__ import annotations

import sys

import torch
from tell import captured, parameters_of, state_of, tell_client
from torch_geometric.nn import GCNConv

STEPS = 6
NODES, EDGES, FEATURES, CLASSES = 2048, 8192, 128, 8


class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = GCNConv(FEATURES, 512)
        self.second = GCNConv(512, CLASSES)

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(nodes, edges).relu(), edges)


def train(model: Network, optimizer: torch.optim.Optimizer) -> list[float]:
    nodes, labels = torch.rand(NODES, FEATURES).cuda(), torch.randint(CLASSES, (NODES,)).cuda()
    losses = []
    for _ in range(STEPS):
        edges = torch.randint(NODES, (2, EDGES)).cuda()
        loss = torch.nn.functional.cross_entropy(model(nodes, edges), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(round(loss.item(), 3))
    return losses


torch.manual_seed(1)
model = Network().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = train(model, optimizer)
if "graphs" in sys.argv[1:]:
    # A CUDA graph cannot capture the whole model. GCNConv selects self-loops by a mask, and the
    # result's size is known only after the GPU has finished, so a capture cannot wait for it. So
    # only the linear layer is captured.
    wide = torch.rand(NODES, FEATURES, device="cuda")
    assert captured(lambda: model.first.lin(wide).relu()) == [NODES, 512]
tell_client(
    end=losses,
    iterations=STEPS,
    parameters=parameters_of(model),
    optimizer_state=state_of(optimizer),
)
