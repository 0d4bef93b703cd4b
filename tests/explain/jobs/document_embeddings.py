"""Computes vectors of documents as cached properties, so that each document keeps its vectors.

Mended: they are computed again at each use.
"""

import functools
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

encoder = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 1024)).cuda().eval()


class Document:
    def __init__(self, words: int) -> None:
        self.words = words

    def compute(self) -> torch.Tensor:
        with torch.no_grad():
            return encoder(torch.randn(self.words, 128, device="cuda"))  # <-- place

    @functools.cached_property
    def vectors(self) -> torch.Tensor:
        return self.compute()  # <-- place


def score(document: Document, question: torch.Tensor) -> float:
    vectors = document.compute() if mended else document.vectors  # <-- place
    return (vectors @ question).max().item()


documents = [Document(4096) for _ in range(45)]
question = torch.randn(1024, device="cuda")
print(max(score(document, question) for document in documents))
