"""Encodes all questions before it answers the first one. Mended: it encodes one at a time."""

import asyncio
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


async def answer(encoder: nn.Module, index: int, gate: asyncio.Semaphore) -> float:
    async with gate:
        features = encoder(torch.randn(4096, 256, device="cuda"))  # <-- place
        await asyncio.sleep(0.01)  # the reader is asked
        return features[index].mean().item()


async def answer_all(encoder: nn.Module, count: int) -> list[float]:
    gate = asyncio.Semaphore(1 if mended else count)
    return await asyncio.gather(*[answer(encoder, i, gate) for i in range(count)])  # <-- place


with torch.no_grad():
    print(len(asyncio.run(answer_all(nn.Linear(256, 1024).cuda(), 50))))
