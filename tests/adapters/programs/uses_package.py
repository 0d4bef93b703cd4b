"""Calls a package that makes tensors and keeps them in a variable of its own."""

import torch
from hoard import keep  # the test writes it

torch.zeros(1, device="cuda")
for _ in range(1000):
    keep(4 << 20)
