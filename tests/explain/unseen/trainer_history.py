"""A trainer notes what the network gave in each step. Mended: it notes the mean of each unit."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Trainer:
    def __init__(self, model: nn.Module, head: nn.Module) -> None:
        self.model = model
        self.head = head
        self.optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.01)
        self.history: list[dict] = []

    def fit(self, steps: int) -> None:
        for step in range(steps):
            x = torch.randn(2048, 512, device="cuda")
            y = torch.randint(10, (2048,), device="cuda")
            hidden = torch.relu(self.model(x))  # <-- place
            loss = F.cross_entropy(self.head(hidden), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            seen = hidden.detach()
            if mended:
                seen = seen.mean(dim=0)
            self.history.append({"step": step, "loss": loss.item(), "hidden": seen})  # <-- place


trainer = Trainer(nn.Linear(512, 4096).cuda(), nn.Linear(4096, 10).cuda())
trainer.fit(30)
print(len(trainer.history), "steps")
