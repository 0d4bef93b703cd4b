"""Train a small residual conv net on one GPU, on random images of varying resolution.

Convolutions and batch normalisation, forward and backward; with --channels-last and --bfloat16 in
the memory layout and the type that a GPU is fastest with.

    python convnet.py --steps 5
"""

import argparse
import contextlib

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions and a shortcut; halves the resolution if `stride` is 2."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = functional.relu(self.first_norm(self.first(images)))
        hidden = self.second_norm(self.second(hidden))
        return functional.relu(hidden + self.shortcut(images))


def build_model(classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 7, stride=2, padding=3),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
        Block(32, 64, 1),
        Block(64, 128, 2),
        Block(128, 256, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(256, classes),
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5, help="how many batches to train on")
    parser.add_argument("--batch", type=int, default=16, help="images per batch")
    parser.add_argument("--channels-last", action="store_true", help="NHWC memory layout")
    parser.add_argument("--bfloat16", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and data")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    classes = 10
    layout = torch.channels_last if arguments.channels_last else torch.contiguous_format
    model = build_model(classes).cuda().to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(1, arguments.steps + 1):
        side = 64 + 16 * (step % 3)
        images = torch.randn(arguments.batch, 3, side, side).cuda().to(memory_format=layout)
        labels = torch.randint(classes, (arguments.batch,)).cuda()
        half = torch.autocast("cuda", dtype=torch.bfloat16)
        with half if arguments.bfloat16 else contextlib.nullcontext():
            loss = functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {side} x {side} pixels, loss {loss.item():.4f}", flush=True)
    model.eval()
    with torch.no_grad():
        model(images)
    torch.cuda.synchronize()
    print("evaluated", flush=True)


if __name__ == "__main__":
    main()
