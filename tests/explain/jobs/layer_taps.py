"""Looks into the layers of a network by hooks. Mended: keeps one mean of each."""

import sys
from collections import defaultdict
from functools import partial

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
taps: dict[str, list[torch.Tensor]] = defaultdict(list)


def tap(name: str, module: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
    taps[name].append(output.mean(0) if mended else output)  # <-- place


features = nn.Sequential()
for i, (a, b) in enumerate([(3, 16), (16, 32), (32, 32)]):
    features.add_module(f"conv{i}", nn.Conv2d(a, b, 3, padding=1))
    features.add_module(f"act{i}", nn.ReLU())
features.cuda().eval()
for name, module in features.named_modules():
    if isinstance(module, nn.ReLU):
        module.register_forward_hook(partial(tap, name))

with torch.no_grad():
    for _ in range(40):
        features(torch.rand(16, 3, 64, 64, device="cuda"))  # <-- place
print({name: len(values) for name, values in taps.items()})
