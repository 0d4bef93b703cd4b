"""Makes trials that refer to themselves, so that only the garbage collector frees them.

Mended: a trial does not refer to itself.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Trial:
    def __init__(self, rate: float) -> None:
        self.model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)]).cuda()  # <-- place
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)
        self.losses: list[float] = []
        self.on_step = [] if mended else [self.note]  # <-- place

    def note(self, loss: float) -> None:
        self.losses.append(loss)

    def run(self, steps: int) -> float:
        for _ in range(steps):
            loss = self.model(torch.randn(64, 2048, device="cuda")).square().mean()
            self.optimizer.zero_grad()
            loss.backward()  # <-- place
            self.optimizer.step()
            for call in self.on_step or [self.note]:
                call(loss.item())
        return self.losses[-1]


scores = []
for exponent in range(6):
    trial = Trial(10.0**-exponent)
    scores.append(trial.run(3))
    del trial
print(len(scores), "trials")
