"""An agent learns from its newest rollout but keeps all of them. Mended: the old ones go."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.policy = nn.Sequential(nn.Flatten(), nn.Linear(4 * 84 * 84, 64), nn.Tanh())
        self.actions = nn.Linear(64, 6)
        self.rollouts: list[dict[str, torch.Tensor]] = []

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.actions(self.policy(frames)).log_softmax(dim=1)

    @torch.no_grad()
    def play(self, steps: int) -> None:
        frames = torch.rand(steps, 4, 84, 84, device="cuda")  # <-- place
        rollout = {"frames": frames, "chances": self(frames).exp()}
        self.rollouts.append(rollout)  # <-- place


agent = Agent().cuda()
optimizer = torch.optim.SGD(agent.parameters(), lr=0.01)
for _update in range(50):
    agent.play(128)
    newest = agent.rollouts[-1]
    loss = -(agent(newest["frames"]) * newest["chances"]).sum(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if mended:
        agent.rollouts.clear()
print("played")
