"""Beam search; every hypothesis that was ever made stays, cache and all. Mended: the last ones."""

import sys
from dataclasses import dataclass

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

BEAMS = 4
LAYERS = 16


@dataclass
class Hypothesis:
    tokens: list[int]
    cache: torch.Tensor  # layers, keys and values, positions, width


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(1024, 1024)

    def extend(self, old: Hypothesis, token: int) -> Hypothesis:
        new = self.project(torch.randn(LAYERS, 2, 1, 1024, device="cuda", dtype=torch.half))
        cache = torch.cat([old.cache, new], dim=2)  # <-- place
        return Hypothesis([*old.tokens, token], cache)


decoder = Decoder().cuda().half()
prompt = torch.zeros(LAYERS, 2, 256, 1024, device="cuda", dtype=torch.half)
beams = [Hypothesis([], prompt)] * BEAMS
hypotheses: list[Hypothesis] = []
with torch.inference_mode():
    for step in range(20):
        beams = [decoder.extend(beam, step) for beam in beams]
        if mended:
            hypotheses = list(beams)
        else:
            hypotheses.extend(beams)  # <-- place
print(len(hypotheses[-1].tokens), "tokens")
