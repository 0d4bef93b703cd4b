"""Creates a data set with all spectrograms on the card. Mended: it has them on the host."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Spectrograms(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
    def __init__(self, count: int) -> None:
        self.items = [self.load(i) for i in range(count)]

    def load(self, number: int) -> tuple[torch.Tensor, int]:
        wave = torch.zeros(1024, 256, device="cpu" if mended else "cuda")
        return wave.abs().log1p(), number % 5  # <-- place

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        return self.items[number]


data = Spectrograms(800)
head = nn.Linear(256, 5).cuda()
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data, batch_size=8):
    loss = nn.functional.cross_entropy(head(x.cuda().mean(1)), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
