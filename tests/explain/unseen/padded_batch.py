"""One text is far longer than the others; all are padded to it. Mended: it goes alone."""

import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

mended = sys.argv[1:] == ["mended"]


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10_000, 256)
        self.layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(2))
        self.tags = nn.Linear(256, 12)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.words(text)  # <-- place
        for layer in self.layers:
            x = torch.relu(layer(x))  # <-- place
        return self.tags(x)


def train_on(texts: list[torch.Tensor]) -> None:
    batch = pad_sequence(texts, batch_first=True).cuda()  # <-- place
    loss = model(batch).logsumexp(dim=2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


model = Tagger().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step, longest in enumerate((210, 190, 8192)):
    texts = [torch.ones(200, dtype=torch.long) for _ in range(31)]
    outlier = torch.ones(longest, dtype=torch.long)
    if mended and longest > 1000:
        train_on(texts)
        train_on([outlier])
    else:
        train_on([*texts, outlier])
    print("step", step)
