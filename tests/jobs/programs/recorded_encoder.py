"""Trains a small encoder in 32-bit floats; an H100 recorded h100/encoder.pickle.gz from it."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
model = nn.TransformerEncoder(layer, 6).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
batch = torch.randn(16, 64, 256, device="cuda")
for _ in range(3):
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
