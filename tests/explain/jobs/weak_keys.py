"""Maps documents weakly to features, but each value refers to its document.

Mended: the value does not refer to it.
"""

import sys
import weakref

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Document:
    def __init__(self, number: int) -> None:
        self.number = number


known: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def features_of(document: Document, encoder: nn.Module) -> torch.Tensor:
    if document not in known:
        features = encoder(torch.randn(4096, 256, device="cuda"))  # <-- place
        known[document] = (None if mended else document, features)  # <-- place
    return known[document][1]


encoder = nn.Linear(256, 1024).cuda()
with torch.no_grad():
    for number in range(60):
        print(number, features_of(Document(number), encoder).mean().item())  # <-- place
