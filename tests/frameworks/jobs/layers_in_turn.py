"""Forward-forward: each layer has an optimizer of its own, and is trained separately with good and
bad examples, one layer after another, without a backward pass through the whole model.
"""

from __future__ import annotations

import torch
from tell import parameters_of, state_of, tell, trained_of

STEPS = 10  # steps of each layer
WIDTH = 2048
THRESHOLD = 2.0


class Layer(torch.nn.Linear):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.cuda()
        self.optimizer = torch.optim.Adam(self.parameters(), lr=0.03)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return torch.relu(super().forward(direction))

    def fit(self, good: torch.Tensor, bad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for _ in range(STEPS):
            wanted = self(good).square().mean(1)
            unwanted = self(bad).square().mean(1)
            loss = torch.nn.functional.softplus(
                torch.cat([THRESHOLD - wanted, unwanted - THRESHOLD])
            ).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return self(good).detach(), self(bad).detach()


def train(layers: torch.nn.ModuleList) -> None:
    good = torch.rand(256, WIDTH).cuda()
    bad = good[torch.randperm(len(good)).cuda()]
    for layer in layers:
        good, bad = layer.fit(good, bad)


layers = torch.nn.ModuleList([Layer(WIDTH, WIDTH), Layer(WIDTH, WIDTH)])
train(layers)
tell(
    steps=STEPS * len(layers),
    parameters=parameters_of(layers),
    gradients=trained_of(layers),
    optimizer_state=sum(state_of(layer.optimizer) for layer in layers),
)
