"""Reading allocated, reserved and peak memory during a run costs nothing.

Group: monitoring
Claim: tutorials print memory_allocated(), memory_reserved() and max_memory_allocated() in each
step.
Do: Reset the peaks in each step to see the peak of each step. To see where memory comes from,
record a trace: vramstow run --stacks=all.
Note: PyTorch maintains these counters anyway. They do not show which objects hold the memory, or
how much memory libraries other than PyTorch use.
"""

import torch
from torch import Tensor, nn
from workload import LanguageModel, main, plain_step, train


def watched_step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
    torch.cuda.reset_peak_memory_stats()
    plain_step(model, optimizer, tokens)
    counters = {
        "allocated": torch.cuda.memory_allocated(),
        "reserved": torch.cuda.memory_reserved(),
        "peak": torch.cuda.max_memory_allocated(),
    }
    print(", ".join(f"{name} {value >> 20} MiB" for name, value in counters.items()))


def before() -> None:
    train(LanguageModel().to("cuda"))


def after() -> None:
    train(LanguageModel().to("cuda"), watched_step)


if __name__ == "__main__":
    main(before=before, after=after)
