"""Workers and pinned memory: batches are prepared in advance, which needs host memory.

Group: start-up
Claim: tutorials recommend pin_memory=True and several workers; pinned memory is rounded to a power
of two.
Do: Consider the host's memory before you raise num_workers or prefetch_factor: each worker has its
own copy of the data that it accesses, and each batch that waits is pinned.
Note: Nothing changes on the device. Batches come from workers through shared memory, which is not
included in the host's figure; the figure consists mostly of the workers' own copies.
"""

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from workload import LanguageModel, evaluate, iteration, main


class Batches(Dataset[Tensor]):
    """Embedded text, as a preprocessed set has it: 5 MiB a batch."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Tensor:
        return torch.full((5 << 18,), float(index))


@torch.no_grad()
def run(workers: int, pinned: bool) -> None:
    evaluate(LanguageModel().to("cuda"), batch=1, steps=1)
    data = DataLoader(Batches(), batch_size=1, num_workers=workers, pin_memory=pinned)
    for number, batch in enumerate(data):
        iteration(number)
        batch.to("cuda", non_blocking=pinned)


def before() -> None:
    run(workers=0, pinned=False)


def after() -> None:
    run(workers=2, pinned=True)


if __name__ == "__main__":
    main(before=before, after=after)
