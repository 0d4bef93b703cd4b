"""Alternates large temporary tensors with smaller results, which fragments memory.

Mended: it allocates all results first.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

ROWS = 34 * 2**18 // 1024


class Spectrum(nn.Module):
    def forward(self, index: int) -> torch.Tensor:
        """Needs 60 MiB while it runs, and gives one number."""
        signal = torch.randn(60 * 256, 1024, device="cuda")
        return signal.mean() + index


@torch.no_grad()
def analyse(model: Spectrum, count: int) -> list[torch.Tensor]:
    results = list(torch.zeros(count, ROWS, 1024, device="cuda")) if mended else []
    for index in range(count):
        level = model(index)
        if not mended:
            results.append(torch.zeros(ROWS, 1024, device="cuda"))  # <-- place
        results[index].add_(level)
    return results


print(len(analyse(Spectrum(), 16)), "results")
