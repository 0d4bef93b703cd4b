"""Feed a GPU from DataLoader workers that are forked or spawned, with pinned memory.

python data_workers.py --start spawn
"""

import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--start", choices=["fork", "spawn", "forkserver"], default="fork")
    parser.add_argument("--workers", type=int, default=2, help="worker processes")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.zeros(1, device="cuda")  # CUDA is in use before the workers are made
    numbers = torch.arange(64 * 32, dtype=torch.int64).view(64, 32)
    loader = DataLoader(
        TensorDataset(numbers),
        batch_size=16,
        num_workers=arguments.workers,
        pin_memory=True,
        multiprocessing_context=arguments.start,
    )
    for step, (batch,) in enumerate(loader, 1):
        assert batch.is_pinned()
        there = batch.to("cuda", non_blocking=True)
        assert torch.equal(there.cpu(), numbers[16 * (step - 1) : 16 * step])
        print(f"step {step}: {tuple(there.shape)}", flush=True)


if __name__ == "__main__":
    main()
