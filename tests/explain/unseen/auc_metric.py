"""A metric that collects all scores until it is asked. Mended: it counts what is right."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Accuracy:
    def __init__(self) -> None:
        self.scores: list[torch.Tensor] = []
        self.labels: list[torch.Tensor] = []
        self.right = 0
        self.seen = 0

    def update(self, scores: torch.Tensor, labels: torch.Tensor) -> None:
        if mended:
            self.right += int((scores.argmax(dim=1) == labels).sum().item())
            self.seen += len(labels)
        else:
            self.scores.append(scores)  # <-- place
            self.labels.append(labels)

    def compute(self) -> float:
        if self.scores:
            hits = torch.cat(self.scores).argmax(dim=1) == torch.cat(self.labels)
            return hits.float().mean().item()
        return self.right / self.seen


model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 2000)).cuda().eval()
metric = Accuracy()
with torch.no_grad():
    for _ in range(30):
        images = torch.randn(4096, 256, device="cuda")
        labels = torch.randint(2000, (4096,), device="cuda")
        metric.update(model(images).softmax(dim=1), labels)  # <-- place
print(metric.compute())
