"""A vision transformer of timm is trained, in bfloat16."""

from __future__ import annotations

import timm
import torch
from tell import parameters_of, state_of, tell, trained_of

STEPS = 6


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for _ in range(STEPS):
        pictures = torch.randn(16, 3, 224, 224).cuda()
        kinds = torch.randint(0, 100, (16,)).cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(pictures), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


model = timm.create_model("vit_tiny_patch16_224", pretrained=False, num_classes=100).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
train(model, optimizer)
tell(
    steps=STEPS,
    parameters=parameters_of(model),
    gradients=trained_of(model),
    optimizer_state=state_of(optimizer),
)
