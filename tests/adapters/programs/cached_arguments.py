"""Functions with caches: one keeps its results, the others their arguments.

A dict has tensors as keys.
"""

import functools

import torch


class Table:
    def __init__(self) -> None:
        self.rows = torch.empty(4 << 20, device="cuda")


@functools.cache
def size_of(table: Table) -> int:
    return table.rows.numel()


@functools.lru_cache
def rows_of(table: Table, scale: float) -> float:
    return table.rows.numel() * scale


@functools.lru_cache(maxsize=8)
def made(number: int) -> tuple[Table, int]:
    return Table(), number


seen: dict[torch.Tensor, torch.Tensor] = {}
for turn in range(3):
    seen[torch.tensor(turn)] = torch.empty(4 << 20, device="cuda")
    size_of(Table())
    rows_of(Table(), turn)
    made(turn)
kept = []
while True:
    kept.append(torch.empty(4 << 20, device="cuda"))
