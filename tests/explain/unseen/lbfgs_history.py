"""L-BFGS remembers a hundred directions and steps. Mended: gradient descent."""

import sys

import torch

mended = sys.argv[1:] == ["mended"]

target = torch.rand(1448, 1448, device="cuda")
weights = torch.nn.Parameter(torch.zeros(1448, 1448, device="cuda"))
if mended:
    optimizer = torch.optim.SGD([weights], lr=0.01)
else:
    optimizer = torch.optim.LBFGS([weights], max_iter=1, history_size=100, lr=1)  # <-- place


def loss_of() -> torch.Tensor:
    optimizer.zero_grad()
    loss = ((weights - target) ** 4).sum()
    loss.backward()
    return loss


for _step in range(60):
    optimizer.step(loss_of)  # <-- place
print("fitted")
