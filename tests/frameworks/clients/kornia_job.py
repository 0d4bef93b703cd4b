"""A small network is trained on pictures that Kornia changes on the card. `graphs`: then Kornia's
filters run from a CUDA graph.
"""

from __future__ import annotations

import sys

import kornia
import torch
from tell import captured, parameters_of, state_of, tell_client

STEPS, ROWS, SIDE, CLASSES = 5, 8, 64, 128


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[bool]:
    change = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(),
        kornia.augmentation.RandomAffine(degrees=15, p=1.0),
        kornia.augmentation.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
        data_keys=["input"],
    )
    finite = []
    for _ in range(STEPS):
        pictures = change(torch.rand(ROWS, 3, SIDE, SIDE).cuda())
        labels = torch.randint(CLASSES, (ROWS,)).cuda()
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        finite.append(bool(torch.isfinite(loss)))
    return finite


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
finite = train(model, optimizer)
if "graphs" in sys.argv[1:]:
    picture = torch.rand(1, 3, SIDE, SIDE, device="cuda")
    found = captured(lambda: kornia.filters.sobel(kornia.filters.box_blur(picture, (3, 3))))
    assert found == [1, 3, SIDE, SIDE]
tell_client(
    end=finite,
    iterations=STEPS,
    parameters=parameters_of(model),
    optimizer_state=state_of(optimizer),
)
