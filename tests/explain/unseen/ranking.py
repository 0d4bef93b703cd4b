"""Ranks all pictures for each question by sorting. Mended: the best ten, in blocks of questions."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Towers(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.questions = nn.Linear(128, width)
        self.pictures = nn.Linear(256, width)


def recall_at_ten(towers: Towers, count: int) -> float:
    questions = F.normalize(towers.questions(torch.randn(count, 128, device="cuda")), dim=1)
    pictures = F.normalize(towers.pictures(torch.randn(count, 256, device="cuda")), dim=1)
    own = torch.arange(count, device="cuda")[:, None]
    if mended:
        hits = 0.0
        for rows, truth in zip(questions.split(512), own.split(512), strict=True):
            best = (rows @ pictures.t()).topk(10, dim=1).indices
            hits += (best == truth).sum().item()
        return hits / count
    similarity = questions @ pictures.t()  # <-- place
    order = similarity.argsort(dim=1, descending=True)  # <-- place
    return (order[:, :10] == own).sum().item() / count


with torch.no_grad():
    print(recall_at_ten(Towers(64).cuda(), 8192))
