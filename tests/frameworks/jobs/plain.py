"""A hand-written loop in plain PyTorch: six steps, evaluations after three and at the end."""

from __future__ import annotations

import torch
from tell import parameters_of, state_of, tell, trained_of

STEPS = 6


def evaluate(model: torch.nn.Module, pictures: torch.Tensor) -> None:
    model.eval()
    with torch.no_grad():
        for part in pictures.split(32):
            model(part.cuda()).argmax(1).cpu()
    model.train()


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    pictures = torch.randn(STEPS * 64, 1024)
    kinds = torch.randint(0, 10, (STEPS * 64,))
    for step in range(STEPS):
        rows = slice(step * 64, (step + 1) * 64)
        loss = torch.nn.functional.cross_entropy(model(pictures[rows].cuda()), kinds[rows].cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 3 == 2:
            evaluate(model, pictures[:160])


model = torch.nn.Sequential(
    torch.nn.Linear(1024, 2048),
    torch.nn.ReLU(),
    torch.nn.Linear(2048, 2048),
    torch.nn.ReLU(),
    torch.nn.Linear(2048, 10),
).cuda()
optimizer = torch.optim.Adam(model.parameters())
train(model, optimizer)
tell(
    steps=STEPS,
    parameters=parameters_of(model),
    gradients=trained_of(model),
    optimizer_state=state_of(optimizer),
)
