"""A detector of objects is trained on random pictures. `graphs`: its first layers are a graph's."""

from __future__ import annotations

import sys

import torch
from tell import parameters_of, state_of, tell_client
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

STEPS = 4
SIDE = 160
BOXES = torch.tensor([[8.0, 8.0, 60.0, 60.0], [40.0, 30.0, 120.0, 100.0]])
LABELS = torch.tensor([1, 2])


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[bool]:
    model.train()
    finite = []
    for _ in range(STEPS):
        pictures = [torch.rand(3, SIDE, SIDE).cuda() for _ in range(2)]
        targets = [{"boxes": BOXES.cuda(), "labels": LABELS.cuda()} for _ in pictures]
        loss = sum(model(pictures, targets).values())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        finite.append(bool(torch.isfinite(loss)))
    return finite


def features_from_a_graph(model: torch.nn.Module) -> None:
    pictures = torch.rand(1, 3, SIDE, SIDE, device="cuda")
    graphed = torch.cuda.make_graphed_callables(model.eval().backbone.body["0"], (pictures,))
    for _ in range(3):
        graphed(pictures)


torch.manual_seed(1)
model = fasterrcnn_mobilenet_v3_large_320_fpn(
    weights=None, weights_backbone=None, num_classes=3, min_size=SIDE, max_size=SIDE
).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
finite = train(model, optimizer)
if "graphs" in sys.argv[1:]:
    features_from_a_graph(model)
tell_client(
    end=finite,
    iterations=STEPS,
    parameters=parameters_of(model),
    optimizer_state=state_of(optimizer),
)
