"""The jobs of run_cost.py: run_cost_jobs.py JOB [LIBRARY]

It reads a count of steps from each line of its input, runs one step more than that, and answers
with the nanoseconds of processor time of the rest. With LIBRARY, that of counted_steps.cc, valgrind
counts the rest.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

Step = Callable[[], None]
WARM = 20  # steps before anything is measured


def transformer() -> Step:
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, dropout=0.1)
    model = nn.TransformerEncoder(layer, 4).cuda()
    head = nn.Linear(256, 512).cuda()
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, foreach=False)
    x = torch.randn(4, 64, 256, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        head(model(x)).float().logsumexp(-1).mean().backward()
        optimizer.step()

    return step


def convnet() -> Step:
    layers: list[nn.Module] = []
    width = 3
    for out in (32, 64, 64, 128, 128, 256):
        layers += [nn.Conv2d(width, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
        width = out
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)]
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(16, 3, 64, 64, device="cuda")
    y = torch.zeros(16, dtype=torch.long, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


class DecoderLayer(nn.Module):
    """A layer that caches keys and values of earlier tokens."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.norm = nn.LayerNorm(width)
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.rest = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple]:
        parts = self.inputs(self.norm(x)).view(x.size(0), 1, 3, self._heads, -1).unbind(2)
        query, key, value = (part.transpose(1, 2) for part in parts)
        if cache is not None:
            key = torch.cat([cache[0], key], 2)
            value = torch.cat([cache[1], value], 2)
        seen = (query @ key.transpose(-1, -2) * 0.1).softmax(-1) @ value
        x = x + self.output(seen.transpose(1, 2).reshape(x.shape))
        return x + self.rest(x), (key, value)


def generate() -> Step:
    embedding = nn.Embedding(1000, 256).cuda()
    layers = nn.ModuleList([DecoderLayer(256, 8) for _ in range(4)]).cuda()
    head = nn.Linear(256, 1000).cuda()
    first = torch.zeros(4, 1, dtype=torch.long, device="cuda")

    @torch.no_grad()
    def step() -> None:
        token = first
        caches: list = [None] * len(layers)
        for _ in range(6):
            x = embedding(token)
            for i, layer in enumerate(layers):
                x, caches[i] = layer(x, caches[i])
            token = head(x).argmax(-1)

    return step


def lstm() -> Step:
    model = nn.LSTM(128, 256, 2).cuda()
    cell = nn.LSTMCell(256, 128).cuda()
    optimizer = torch.optim.Adam([*model.parameters(), *cell.parameters()])
    x = torch.randn(16, 8, 128, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        outputs, _ = model(x)
        state = None
        for output in outputs:
            state = cell(output, state)
        assert state is not None
        state[0].sum().backward()
        optimizer.step()

    return step


def loader() -> Step:
    """Eight worker processes, forked from this one, make small batches of noise."""

    class Noise(torch.utils.data.IterableDataset):
        def __iter__(self):  # noqa: ANN204
            while True:
                yield torch.randn(64, 128)

    batches = iter(torch.utils.data.DataLoader(Noise(), batch_size=None, num_workers=8))
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        model(next(batches).cuda()).sum().backward()
        optimizer.step()

    return step


def nanoseconds_of_children() -> int:
    me = Path(f"/proc/self/task/{os.getpid()}/children")
    total = 0
    for child in me.read_text().split():
        for task in Path(f"/proc/{child}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    return total


def main() -> None:
    jobs = {job.__name__: job for job in (transformer, convnet, generate, lstm, loader)}
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("job", choices=jobs)
    parser.add_argument("library", nargs="?", help="of counted_steps.cc, for valgrind")
    options = parser.parse_args()
    torch.manual_seed(0)
    step = jobs[options.job]()
    counter = ctypes.CDLL(options.library) if options.library is not None else None

    def run(steps: int) -> None:
        for _ in range(steps):
            step()

    run(WARM)
    for line in sys.stdin:
        begin = 0
        # The counted and the uncounted steps are called from the same line. Otherwise all stacks of
        # the first counted step would be new.
        for is_counted, steps in ((False, 1), (True, int(line))):
            begin = time.process_time_ns() + nanoseconds_of_children()
            if counter is not None and is_counted:
                counter.begin_counting()
            run(steps)
        if counter is not None:
            counter.end_counting()
        print(time.process_time_ns() + nanoseconds_of_children() - begin, flush=True)
    os._exit(0)  # does not wait for workers of a loader


if __name__ == "__main__":
    main()
