"""Trains an embedding of many users, of which only a few occur in a batch.

Mended: the gradient of the embedding is sparse.
"""

import sys

import torch
from torch import nn

users = nn.Embedding(2_000_000, 128, sparse="mended" in sys.argv).cuda()
head = nn.Linear(128, 1).cuda()
optimizer = torch.optim.SGD([*users.parameters(), *head.parameters()], lr=0.1)
for _step in range(3):
    ids = torch.randint(0, 2_000_000, (1024,), device="cuda")
    loss = head(users(ids)).square().mean()
    optimizer.zero_grad()
    loss.backward()  # <-- place
    optimizer.step()
