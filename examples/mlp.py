"""Train a multilayer perceptron with Adam on one GPU, on random data.

python mlp.py --steps 10
"""

import argparse

import torch
from torch import nn
from torch.nn import functional


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10, help="how many batches to train on")
    parser.add_argument("--batch", type=int, default=256, help="examples per batch")
    parser.add_argument("--width", type=int, default=1024, help="size of the hidden layers")
    parser.add_argument("--depth", type=int, default=3, help="number of hidden layers")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and data")
    return parser.parse_args()


def build_model(inputs: int, width: int, depth: int, classes: int) -> nn.Module:
    sizes = [inputs] + [width] * depth
    layers: list[nn.Module] = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, classes))


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    inputs, classes = 784, 10
    model = build_model(inputs, arguments.width, arguments.depth, classes).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, arguments.steps + 1):
        examples = torch.randn(arguments.batch, inputs).cuda()
        labels = torch.randint(classes, (arguments.batch,)).cuda()
        loss = functional.cross_entropy(model(examples), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
