"""A large table of embeddings under Adam, dense. Mended: SGD, which has no state."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Recommender(nn.Module):
    def __init__(self, users: int, items: int, width: int) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(users, width), nn.Embedding(items, width)

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        return (self.users(user) * self.items(item)).sum(-1)


def main() -> None:
    model = Recommender(400_000, 200_000, 64).to("cuda")
    kind = torch.optim.SGD if mended else torch.optim.Adam
    optimizer = kind(model.parameters(), lr=0.01, foreach=False)
    for batch in range(3):
        user = torch.zeros(4096, dtype=torch.long, device="cuda")
        loss = (model(user, user) - 1).square().mean()
        loss.backward()
        optimizer.step()  # <-- place
        optimizer.zero_grad()
        print("batch", batch)


main()
