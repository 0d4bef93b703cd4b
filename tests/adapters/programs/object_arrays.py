"""Holds tensors in NumPy arrays of objects, as pandas does, and then allocates too much."""

import numpy as np
import torch

SIZE = 2 * 1024 * 1024  # numbers of 4 bytes


def objects(count: int) -> np.ndarray:
    made = np.empty(count, dtype=object)
    for i in range(count):
        made[i] = torch.empty(SIZE, device="cuda")
    return made


class Blocks:
    """The object between a pandas table and its columns."""

    def __init__(self) -> None:
        self.blocks = (objects(2).reshape(1, 2),)


class Table:
    def __init__(self) -> None:
        self._mgr = Blocks()


bank = objects(3)
part = objects(4)[1:]
numbers = np.zeros(1000)
table = Table()
del numbers
torch.empty(64 * SIZE, device="cuda")
