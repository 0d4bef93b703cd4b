"""Capture a training step as a CUDA graph and replay it.

python cuda_graph.py --steps 5
"""

import argparse

import torch
from torch import nn
from torch.nn import functional


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5, help="how often to replay the step")
    parser.add_argument("--batch", type=int, default=64, help="examples per batch")
    parser.add_argument("--width", type=int, default=512, help="size of the hidden layer")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and data")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    model = nn.Sequential(
        nn.Linear(64, arguments.width), nn.ReLU(), nn.Linear(arguments.width, 10)
    ).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
    examples = torch.zeros(arguments.batch, 64, device="cuda")
    labels = torch.zeros(arguments.batch, dtype=torch.long, device="cuda")

    def train() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(examples), labels)
        loss.backward()
        optimizer.step()
        return loss

    # Objects that are created lazily must exist before the capture, so run a few steps on a
    # separate stream first.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            train()
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = train()
    print("captured", flush=True)
    for step in range(1, arguments.steps + 1):
        examples.copy_(torch.randn(arguments.batch, 64))
        labels.copy_(torch.randint(10, (arguments.batch,)))
        graph.replay()
        print(f"step {step}: loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
