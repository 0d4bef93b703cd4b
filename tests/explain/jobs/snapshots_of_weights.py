"""Keeps the weights of each epoch to average them later. Mended: keeps them on the host."""

import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

mended = sys.argv[1:] == ["mended"]


def copy_of(model: nn.Module) -> dict[str, torch.Tensor]:
    if mended:
        return {name: value.cpu() for name, value in model.state_dict().items()}
    return {name: value.clone() for name, value in model.state_dict().items()}  # <-- place


def main() -> None:
    model = nn.Sequential(
        nn.Linear(784, 3000), nn.BatchNorm1d(3000), nn.ReLU(), nn.Linear(3000, 3000), nn.ReLU()
    ).cuda()
    head = nn.Linear(3000, 10).cuda()
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    snapshots = []
    for _ in range(16):
        for _ in range(2):
            scores = head(model(torch.randn(256, 784, device="cuda")))
            loss = F.cross_entropy(scores, torch.zeros(256, dtype=torch.long, device="cuda"))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        snapshots.append(copy_of(model))  # <-- place
    print(len(snapshots))


main()
