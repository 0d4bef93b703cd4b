"""Scaled dot product attention on one GPU, forward and backward, with each of PyTorch's ways.

python attention.py --steps 2
"""

import argparse

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

WAYS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2, help="rounds through all the ways")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="which ways")
    parser.add_argument("--batch", type=int, default=2, help="sequences per batch")
    parser.add_argument("--length", type=int, default=256, help="tokens per sequence")
    parser.add_argument("--seed", type=int, default=1, help="seed of the data")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    heads, width = 8, 64
    for step in range(1, arguments.steps + 1):
        for name in arguments.ways:
            shape = (arguments.batch, heads, arguments.length, width)
            query, key, value = (
                torch.randn(shape).to("cuda", torch.bfloat16).requires_grad_() for _ in range(3)
            )
            with sdpa_kernel(WAYS[name]):
                result = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            result.sum().backward()
            torch.cuda.synchronize()
            print(f"step {step}: {name}, result {tuple(result.shape)}", flush=True)


if __name__ == "__main__":
    main()
