"""Word counts of documents are sparse, and are made dense for a layer. Mended: a few at a time."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

WORDS = 50_000


def counts(documents: int) -> torch.Tensor:
    """Forty words in each document."""
    rows = torch.arange(documents).repeat_interleave(40)
    columns = torch.arange(40).repeat(documents) * 1000 + rows % 1000
    values = torch.ones(len(rows))
    return torch.sparse_coo_tensor(
        torch.stack([rows, columns]), values, (documents, WORDS), is_coalesced=True
    )


class TopicModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.topics = nn.Linear(WORDS, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.topics(x).softmax(dim=1)


model = TopicModel().cuda().eval()
with torch.no_grad():
    for documents in [256] * 16 if mended else [4096]:
        dense = counts(documents).cuda().to_dense()  # <-- place
        print(tuple(model(dense).shape))
