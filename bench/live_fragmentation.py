"""Measures how much more PyTorch jobs reserve than they allocate, while they run.

They run with PyTorch's own allocator, with expandable segments, and with the pool at tensor level.

python bench/live_fragmentation.py [JOB or FILE.requests …]

There are five jobs whose sizes change: lengths and resolutions of training batches, alternating
training and generation, caches of many requests that grow by a few tokens, or by one after a
prompt. Files with requests are those that pool_jobs.py and pool_traces.py write. The jobs run in
the simulator, where no kernel runs. The pool's ratio is the one of `vramstow analyze` for the
trace, the others come from PyTorch's peaks.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn

BUILD = Path(os.environ.get("VRAMSTOW_BUILD", Path(__file__).resolve().parents[1] / "build"))
SETTINGS = ("native", "expandable", "tensors")


def decoder(layers: int, width: int, vocabulary: int) -> nn.Module:
    from torch import nn

    layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True)
    return nn.Sequential(
        nn.Embedding(vocabulary, width),
        nn.TransformerEncoder(layer, layers, enable_nested_tensor=False),
        nn.Linear(width, vocabulary),
    ).cuda()


def train(model: nn.Module, optimizer: object, batch: Tensor, targets: Tensor) -> None:
    import torch
    from torch.nn import functional

    assert isinstance(optimizer, torch.optim.Optimizer)
    with torch.autocast("cuda", torch.bfloat16):
        loss = functional.cross_entropy(model(batch).flatten(0, -2), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train_tokens(model: nn.Module, optimizer: object, batch: int, length: int) -> None:
    import torch

    tokens = torch.zeros(batch, length, dtype=torch.long, device="cuda")
    train(model, optimizer, tokens, tokens.flatten())


def lengths(chance: random.Random) -> None:
    import torch

    model = decoder(8, 512, 16384)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(40):
        train_tokens(model, optimizer, 8, chance.randrange(64, 1024))


def resolutions(chance: random.Random) -> None:
    import torch
    from torch import nn

    widths = [3, 64, 64, 128, 128, 256, 256, 512, 512]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        if after == before:
            layers.append(nn.MaxPool2d(2))
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(40):
        side = chance.randrange(128, 385, 8)
        images = torch.zeros(16, 3, side, side, device="cuda")
        train(model, optimizer, images, torch.zeros(16, dtype=torch.long, device="cuda"))


class Cache:
    """The keys and values of one request, in all layers, as a decoder caches them."""

    def __init__(self, layers: int, batch: int, heads: int, tokens: int) -> None:
        import torch

        self.tokens = tokens
        self.kept = [
            torch.empty(batch, heads, tokens, 64, dtype=torch.bfloat16, device="cuda")
            for _ in range(2 * layers)
        ]

    def step(self, tokens: int = 1) -> None:
        """Adds this number of tokens: each layer makes its keys, its values and its scores."""
        import torch

        for layer, kept in enumerate(self.kept):
            batch, heads, _, size = kept.shape
            new = torch.empty(batch, heads, tokens, size, dtype=kept.dtype, device="cuda")
            self.kept[layer] = torch.cat([kept, new], dim=2)
            if layer % 2 == 1:
                query = torch.empty_like(new)
                (query @ self.kept[layer - 1].transpose(-1, -2)).softmax(-1) @ self.kept[layer]
        self.tokens += tokens


def generate(chance: random.Random) -> None:
    import torch

    model = decoder(8, 512, 16384)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(6):
        for _ in range(3):
            train_tokens(model, optimizer, 8, chance.choice([384, 512, 640]))
        with torch.no_grad():
            cache = Cache(8, 32, 8, chance.randrange(32, 128))
            for _ in range(160):
                cache.step()


def answer(
    chance: random.Random,
    rounds: int,
    most: int,
    share: float,
    arrive: Callable[[], tuple[Cache, int]],
    tokens: int,
) -> None:
    """Answers up to this number of requests at once; each comes with the number of tokens at which
    it ends."""
    live: list[tuple[Cache, int]] = []
    for _ in range(rounds):
        if len(live) < most and chance.random() < share:
            live.append(arrive())
        for cache, _ in live:
            cache.step(tokens)
        live = [(cache, end) for cache, end in live if cache.tokens < end]


def caches(chance: random.Random) -> None:
    layers, heads = 24, 16
    model = decoder(layers, 64 * heads, 16384).half()

    def arrive() -> tuple[Cache, int]:
        start = chance.randrange(16, 800)
        return Cache(layers, 1, heads, start), start + chance.randrange(50, 400)

    answer(chance, rounds=300, most=12, share=0.4, arrive=arrive, tokens=8)
    del model


def requests(chance: random.Random) -> None:
    """Prompts arrive, are processed at once, and are answered token by token."""
    import torch

    layers, heads = 16, 16
    model = decoder(layers, 64 * heads, 16384).half()

    def arrive() -> tuple[Cache, int]:
        prompt = chance.randrange(128, 1024)
        with torch.no_grad():
            model(torch.zeros(1, prompt, dtype=torch.long, device="cuda"))
        return Cache(layers, 1, heads, prompt), prompt + chance.randrange(50, 300)

    answer(chance, rounds=250, most=16, share=0.3, arrive=arrive, tokens=1)


JOBS: dict[str, Callable[[random.Random], None]] = {
    "lengths": lengths,
    "resolutions": resolutions,
    "generate": generate,
    "caches": caches,
    "requests": requests,
}


def serve(requests: Path) -> None:
    """Makes the requests of the file in order, on one stream."""
    import torch

    blocks: dict[str, int] = {}
    for line in requests.read_text().splitlines():
        kind, *rest = line.split()
        if kind == "a":
            blocks[rest[0]] = torch.cuda.caching_allocator_alloc(int(rest[1]))
        elif kind == "f":
            torch.cuda.caching_allocator_delete(blocks.pop(rest[0]))


def work(job: str, seed: int) -> None:
    """Runs in the job's own process and prints the peaks that PyTorch observed."""
    import torch

    torch.manual_seed(seed)
    if job in JOBS:
        JOBS[job](random.Random(seed))
    else:
        serve(Path(job))
    print(json.dumps([torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()]))


def measure(job: str, setting: str, seed: int, folder: Path) -> tuple[float, float]:
    """Returns the MiB allocated at the peak, and the ratio of the reserved peak to it."""
    tensors = setting == "tensors"
    traced = [f"--trace-dir={folder}"] if tensors else ["--no-trace"]
    level = ["--pool=on", "--level=tensors"] if tensors else ["--pool=off"]
    settings = "expandable_segments:True" if setting == "expandable" else ""
    done = subprocess.run(
        [
            *(BUILD / "bin/vramstow", "run", "--simulate=h200,effects=off", *traced, *level, "--"),
            *(sys.executable, __file__, "--work", job, "--seed", str(seed)),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": settings},
    )
    if done.returncode != 0 or "not its tensors" in done.stderr:
        sys.exit(done.stderr[-2000:])
    allocated, reserved = json.loads(done.stdout.splitlines()[-1])
    if not tensors:
        return allocated / 2**20, reserved / allocated
    facts = subprocess.run(
        [BUILD / "bin/vramstow", "analyze", "--json", *folder.glob("*.stow")],
        capture_output=True,
        text=True,
        check=True,
    )
    ratio = json.loads(facts.stdout)["fragmentation"]["peak_reserved_over_allocated"]
    return allocated / 2**20, ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", default=[*JOBS], help="default: all but files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.seed)
        return
    print(f"{'job':24} {'peak MiB':>8} " + " ".join(f"{setting:>10}" for setting in SETTINGS))
    for job in arguments.jobs:
        peak = 0.0
        ratios = []
        for setting in SETTINGS:
            with tempfile.TemporaryDirectory() as folder:
                peak, ratio = measure(job, setting, arguments.seed, Path(folder))
            ratios.append(ratio)
        print(
            f"{Path(job).stem:24} {peak:8.0f} " + " ".join(f"{ratio:10.3f}" for ratio in ratios),
            flush=True,
        )


if __name__ == "__main__":
    main()
