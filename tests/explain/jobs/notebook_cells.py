"""Runs a cell of a notebook that fails, and runs it again.

Mended: the notebook drops the error first.
"""

import sys
import traceback
from collections.abc import Callable

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def run_cell(cell: Callable[[], None]) -> None:
    """This is what a notebook does: it shows the error, and keeps it for a debugger."""
    try:
        cell()
    except ValueError as error:
        traceback.print_exc()
        if not mended:
            sys.last_value = error  # <-- place
            sys.last_traceback = error.__traceback__


def train(classes: int) -> None:
    model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.GELU()) for _ in range(12)])
    model = model.cuda()  # <-- place
    optimizer = torch.optim.Adam(model.parameters())
    for _step in range(2):
        loss = model(torch.randn(1024, 1024, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # <-- place
    if classes != 10:
        raise ValueError(f"the labels have {classes} classes, not 10")


run_cell(lambda: train(11))
run_cell(lambda: train(10))
print("second try is done")
