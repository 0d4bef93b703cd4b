"""All triples of a batch go into the loss. Mended: for each example its hardest two."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Embedder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.layers(x), dim=1)


def triplet_loss(vectors: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    distance = 2 - 2 * vectors @ vectors.t()
    same = (labels[:, None] == labels[None]).float()
    if mended:
        far = (distance * same).amax(dim=1)
        near = (distance + 4 * same).amin(dim=1)
        return torch.relu(far - near + 0.2).mean()
    triples = distance[:, :, None] - distance[:, None, :] + 0.2  # <-- place
    valid = same[:, :, None] * (1 - same[:, None, :])  # <-- place
    return (torch.relu(triples) * valid).mean()  # <-- place


embedder = Embedder().cuda()
optimizer = torch.optim.Adam(embedder.parameters())
for step in range(3):
    labels = torch.randint(40, (512,), device="cuda")
    loss = triplet_loss(embedder(torch.randn(512, 128, device="cuda")), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
