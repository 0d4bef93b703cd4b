"""Answers requests by generators that callers leave before their end, and keeps the generators.

Mended: it closes each generator.
"""

import sys
from collections.abc import Iterator

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(1024, 1024)

    @torch.no_grad()
    def stream(self, batch: int) -> Iterator[int]:
        state = torch.zeros(batch, 1024, device="cuda")  # <-- place
        for token in range(100):
            state = torch.tanh(self.cell(state))  # <-- place
            yield token


decoder = Decoder().cuda()
streams = []
for _request in range(45):
    stream = decoder.stream(4096)
    streams.append(stream)  # <-- place
    for token in stream:
        if token == 3:
            break
    if mended:
        stream.close()
print(len(streams), "requests")
