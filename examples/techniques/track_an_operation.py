"""A context manager around an operation measures its memory; fused attention needs less.

Group: monitoring
Claim: tutorials measure an operation by the difference of two counters, which does not include its
peak.
Do: Put vramstow.track around the code that you suspect: it shows allocated, reserved and peak
memory of this code, and its largest blocks.
Note: Attention that is written by hand computes its scores (batch by heads by length by length)
several times and saves them for the backward pass. Fused attention never stores all scores.
"""

import contextlib

import torch
from torch import Tensor, nn
from workload import Block, LanguageModel, main, train

try:
    from vramstow import track
except ImportError:  # nothing is measured without vramstow

    def track(_: str) -> contextlib.AbstractContextManager[str]:
        return contextlib.nullcontext("attention: not measured")


class TrackedBlock(Block):
    """A layer that reports the memory of its attention."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with track("attention") as tracked:
            attended = super().attend(q, k, v)
        print(tracked)
        return attended


class BlockByHand(TrackedBlock):
    """Computes attention by its formula."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with track("attention") as tracked:
            later = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).triu(1)
            scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
            attended = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
        print(tracked)
        return attended


def run(block: type[nn.Module]) -> None:
    train(LanguageModel(block=block).to("cuda"), steps=2)


def before() -> None:
    run(BlockByHand)


def after() -> None:
    run(TrackedBlock)


if __name__ == "__main__":
    main(before=before, after=after)
