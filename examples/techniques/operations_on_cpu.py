"""Moving an operation to the CPU: results of an evaluation are collected on the host.

Group: recompute and move
Claim: tutorials advise .cpu() for results that are only stored.
Do: Move results to the host batch by batch. Each move waits for the device, so move only small
results, or copy into pinned memory without waiting.
"""

import torch
from torch import Tensor
from workload import LanguageModel, iteration, main, text

BATCHES = 6


@torch.no_grad()
def logits_of(device: str) -> Tensor:
    model = LanguageModel().to("cuda")
    kept = []
    for number in range(BATCHES):
        iteration(number)
        kept.append(model(text().to("cuda")[:, :-1]).to(device))
    return torch.cat(kept)


def before() -> None:
    logits_of("cuda")


def after() -> None:
    logits_of("cpu")


if __name__ == "__main__":
    main(before=before, after=after)
