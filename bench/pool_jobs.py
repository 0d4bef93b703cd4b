"""Synthetic jobs as requests for bench/pool_replay: how common ways to train and serve use memory.

Sizes follow the usual tensors of such models; lengths, resolutions and phases vary from a fixed
seed. `i` marks the start of an iteration.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from pathlib import Path


class Job:
    """Collects requests."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def alloc(self, size: float) -> int:
        self.count += 1
        self.lines.append(f"a {self.count} {max(1, int(size))} 0")
        return self.count

    def free(self, *blocks: int) -> None:
        self.lines += [f"f {block}" for block in blocks]

    def iteration(self) -> None:
        self.lines.append("i")


def transformer_parameters(layers: int, width: int, vocabulary: int) -> list[int]:
    shapes = [vocabulary * width * 4]
    for _ in range(layers):
        shapes += [width * 3 * width * 4, 3 * width * 4, width * width * 4, width * 4]
        shapes += [width * 4 * width * 4, 4 * width * 4, width * 4 * width * 4, width * 4]
        shapes += [width * 4] * 4
    return shapes


def train_step(
    job: Job, layers: int, width: int, tokens: int, batch: int, state: list[int]
) -> None:
    """Forward, backward and optimizer of a decoder; `state` are the parameters' sizes."""
    hidden = batch * tokens * width * 2
    saved: list[list[int]] = []
    for _ in range(layers):
        kept = [job.alloc(hidden), job.alloc(batch * tokens * 4)]
        scratch = job.alloc(hidden * 3)
        kept.append(job.alloc(hidden * 3))
        job.free(scratch)
        kept.append(job.alloc(batch * 16 * tokens * tokens * 2))
        kept.append(job.alloc(hidden))
        scratch = job.alloc(hidden * 4)
        kept += [job.alloc(hidden * 4), job.alloc(hidden)]
        job.free(scratch)
        saved.append(kept)
    logits = job.alloc(batch * tokens * 32000 * 2)
    loss = job.alloc(4)
    gradient_logits = job.alloc(batch * tokens * 32000 * 4)
    job.free(logits)
    gradients = []
    per_layer = (len(state) - 1) // layers
    flow = job.alloc(hidden)
    job.free(gradient_logits)
    for layer in reversed(range(layers)):
        for size in state[1 + layer * per_layer : 1 + (layer + 1) * per_layer]:
            gradients.append(job.alloc(size))
            if job.random.random() < 0.3:
                scratch = job.alloc(hidden * job.random.choice([1, 2, 4]))
                job.free(scratch)
        following = job.alloc(hidden)
        job.free(flow)
        flow = following
        job.free(*saved[layer])
    job.free(flow, loss)
    gradients.append(job.alloc(state[0]))
    for size in state:
        job.free(job.alloc(size))
    job.free(*gradients)


def fixed_length(job: Job) -> None:
    state = transformer_parameters(12, 768, 32000)
    for size in state:
        job.alloc(size)
    first = True
    for _ in range(12):
        job.iteration()
        train_step(job, 12, 768, 512, 8, state)
        if first:
            for size in state:
                job.alloc(size)
                job.alloc(size)
            first = False


def varying_length(job: Job) -> None:
    state = transformer_parameters(12, 768, 32000)
    for size in state * 3:
        job.alloc(size)
    for _ in range(60):
        job.iteration()
        train_step(job, 12, 768, job.random.randrange(64, 1024), 4, state)


def varying_resolution(job: Job) -> None:
    channels = [64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512]
    state = [a * b * 9 * 4 for a, b in zip([3, *channels], channels, strict=False)]
    for size in state * 3:
        job.alloc(size)
    for _ in range(60):
        job.iteration()
        side = job.random.randrange(160, 513, 8)
        batch = 8
        saved = []
        for depth, width in enumerate(channels):
            if depth in (2, 4, 7, 9):
                side //= 2
            saved.append(job.alloc(batch * width * side * side * 4))
            job.free(job.alloc(batch * width * side * side * job.random.choice([1, 4, 9])))
            saved.append(job.alloc(batch * width * side * side * 4))
            saved.append(job.alloc(width * 4))
        gradients = []
        for size in reversed(state):
            workspace = job.alloc(job.random.randrange(1 << 20, 64 << 20))
            gradients.append(job.alloc(size))
            job.free(workspace, *[saved.pop() for _ in range(3)])
        job.free(*gradients)


def train_and_generate(job: Job) -> None:
    state = transformer_parameters(12, 768, 32000)
    for size in state * 3:
        job.alloc(size)
    for _ in range(8):
        for _ in range(3):
            job.iteration()
            train_step(job, 12, 768, job.random.choice([384, 512, 640]), 6, state)
        job.iteration()
        batch = 32
        caches: list[int] = []
        for token in range(64, 320, 4):
            grown: list[int] = []
            for layer in range(12):
                grown.append(job.alloc(batch * (token + 4) * 768 * 2))
                grown.append(job.alloc(batch * (token + 4) * 768 * 2))
                if caches:
                    job.free(caches[2 * layer], caches[2 * layer + 1])
                job.free(job.alloc(batch * 768 * 8))
            caches = grown
        job.free(*caches)


def growing_caches(job: Job) -> None:
    for size in transformer_parameters(24, 1024, 32000):
        job.alloc(size // 2)
    live: list[tuple[list[int], int, int]] = []  # caches, tokens, end
    for _ in range(900):
        job.iteration()
        if len(live) < 12 and job.random.random() < 0.4:
            start = job.random.randrange(16, 800)
            live.append(([], start, start + job.random.randrange(50, 400)))
        following = []
        for caches, tokens, end in live:
            grown = []
            for layer in range(24):
                grown.append(job.alloc(2 * (tokens + 8) * 1024 * 2))
                if caches:
                    job.free(caches[layer])
            job.free(job.alloc(32000 * 4))
            if tokens + 8 >= end:
                job.free(*grown)
            else:
                following.append((grown, tokens + 8, end))
        live = following


def odd_sizes(job: Job) -> None:
    """No structure at all: random sizes, random lives."""
    live: list[int] = []
    for step in range(20000):
        if len(live) > 60 + 40 * ((step // 2000) % 2) or (live and job.random.random() < 0.4):
            job.free(live.pop(job.random.randrange(len(live))))
        else:
            live.append(job.alloc(int(2 ** job.random.uniform(9, 26))))


JOBS: dict[str, Callable[[Job], None]] = {
    "job-fixed-length": fixed_length,
    "job-varying-length": varying_length,
    "job-varying-resolution": varying_resolution,
    "job-train-and-generate": train_and_generate,
    "job-growing-caches": growing_caches,
    "job-odd-sizes": odd_sizes,
}


def requests(name: str, seed: int) -> list[str]:
    job = Job(seed)
    JOBS[name](job)
    return job.lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="folder for the request files")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.target.mkdir(parents=True, exist_ok=True)
    for name in JOBS:
        path = arguments.target / f"{name}.requests"
        path.write_text("\n".join(requests(name, arguments.seed)) + "\n")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
