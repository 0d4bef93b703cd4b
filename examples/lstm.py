"""Train an LSTM on one GPU, on random sequences of varying length.

python lstm.py --steps 5
"""

import argparse

import torch
from torch import nn
from torch.nn import functional


class Tagger(nn.Module):
    """A bidirectional LSTM that gives every step of a sequence a label."""

    def __init__(self, inputs: int, hidden: int, layers: int, labels: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(
            inputs, hidden, layers, batch_first=True, dropout=0.1, bidirectional=True
        )
        self.head = nn.Linear(2 * hidden, labels)

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(sequences)[0])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5, help="how many batches to train on")
    parser.add_argument("--batch", type=int, default=16, help="sequences per batch")
    parser.add_argument("--hidden", type=int, default=128, help="size of the hidden state")
    parser.add_argument("--layers", type=int, default=2, help="LSTM layers")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and data")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    inputs, labels = 32, 8
    model = Tagger(inputs, arguments.hidden, arguments.layers, labels).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, arguments.steps + 1):
        length = 20 + 10 * (step % 3)
        sequences = torch.randn(arguments.batch, length, inputs).cuda()
        targets = torch.randint(labels, (arguments.batch, length)).cuda()
        loss = functional.cross_entropy(model(sequences).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: length {length}, loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
