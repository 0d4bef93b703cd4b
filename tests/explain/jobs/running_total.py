"""Adds up the losses of a validation as tensors with their graphs. Mended: it adds up numbers."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def validate(model: nn.Module, batches: int) -> float:
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for _ in range(batches):
        images = torch.randn(2048, 1024, device="cuda")
        labels = torch.randint(10, (2048,), device="cuda")
        loss = criterion(model(images), labels)  # <-- place
        total += loss.item() if mended else loss
    return float(total) / batches


layers: list[nn.Module] = []
for _ in range(6):
    layers += [nn.Linear(1024, 1024), nn.ReLU()]
classifier = nn.Sequential(*layers, nn.Linear(1024, 10)).cuda()
for epoch in range(2):
    print("epoch", epoch, "loss", validate(classifier, 12))
