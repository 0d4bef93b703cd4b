"""Trains an object detector on random pictures. With `graphs` its first layers run as a graph."""

from __future__ import annotations

import torch
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn
from training import WITH_GRAPHS, tell_training, train

STEPS = 4
SIDE = 160
BOXES = torch.tensor([[8.0, 8.0, 60.0, 60.0], [40.0, 30.0, 120.0, 100.0]])
LABELS = torch.tensor([1, 2])


def loss_of(model: torch.nn.Module) -> torch.Tensor:
    pictures = [torch.rand(3, SIDE, SIDE).cuda() for _ in range(2)]
    targets = [{"boxes": BOXES.cuda(), "labels": LABELS.cuda()} for _ in pictures]
    return sum(model(pictures, targets).values())


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
finite = train(lambda: loss_of(model.train()), optimizer, STEPS)
if WITH_GRAPHS:
    features_from_a_graph(model)
tell_training(finite, STEPS, optimizer, model)
