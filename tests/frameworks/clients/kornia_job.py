"""Trains a small network on pictures that Kornia changes on the GPU. With `graphs` a filter of
Kornia's then runs from a CUDA graph, one that copies nothing from the host."""

from __future__ import annotations

import kornia
import torch
from tell import captured
from training import WITH_GRAPHS, tell_training, train

STEPS, ROWS, SIDE, CLASSES = 5, 8, 64, 128


def loss_of(model: torch.nn.Module, change: torch.nn.Module) -> torch.Tensor:
    pictures = change(torch.rand(ROWS, 3, SIDE, SIDE).cuda())
    labels = torch.randint(CLASSES, (ROWS,)).cuda()
    return torch.nn.functional.cross_entropy(model(pictures), labels)


torch.manual_seed(1)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3, 2, 1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(64, 256, 3, 2, 1),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(256 * (SIDE // 4) ** 2, CLASSES),
).cuda()
optimizer = torch.optim.Adam(model.parameters())
change = kornia.augmentation.AugmentationSequential(
    kornia.augmentation.RandomHorizontalFlip(),
    kornia.augmentation.RandomAffine(degrees=15, p=1.0),
    kornia.augmentation.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
    data_keys=["input"],
)
finite = train(lambda: loss_of(model, change), optimizer, STEPS)
if WITH_GRAPHS:
    picture = torch.rand(1, 3, SIDE, SIDE, device="cuda")
    found = captured(lambda: kornia.filters.box_blur(picture, (3, 3)))
    assert found == [1, 3, SIDE, SIDE]
tell_training(finite, STEPS, optimizer, model)
