"""Fill the GPU until it is out of memory, free memory, and continue.

python out_of_memory.py --steps 3
"""

import argparse

import torch


def fill(block_bytes: int) -> list[torch.Tensor]:
    """Allocates blocks until the memory is full, and returns them."""
    blocks = []
    while True:
        try:
            blocks.append(torch.empty(block_bytes, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            return blocks


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3, help="how often to fill the GPU")
    parser.add_argument("--block-mib", type=int, default=64, help="size of the blocks in MiB")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    total = torch.cuda.get_device_properties(0).total_memory
    print(f"the device has {total >> 20} MiB", flush=True)
    for step in range(1, arguments.steps + 1):
        blocks = fill(arguments.block_mib << 20)
        count = len(blocks)
        del blocks
        torch.cuda.empty_cache()
        again = torch.zeros(arguments.block_mib << 20, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        del again
        print(f"step {step}: OutOfMemoryError after {count} blocks, recovered", flush=True)


if __name__ == "__main__":
    main()
