"""Synthetic jobs as requests for bench/pool_replay, which use memory as common ways of training and
serving do.

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
    """Makes the forward pass, the backward pass and the optimizer step of a decoder; `state` has
    the parameters' sizes."""
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
    live: list[tuple[list[int], int, int]] = []  # caches, their tokens, and the tokens at their end
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
    """Has no structure at all: random sizes, random lifetimes."""
    live: list[int] = []
    for step in range(20000):
        if len(live) > 60 + 40 * ((step // 2000) % 2) or (live and job.random.random() < 0.4):
            job.free(live.pop(job.random.randrange(len(live))))
        else:
            live.append(job.alloc(int(2 ** job.random.uniform(9, 26))))


def weights(job: Job, layers: int, width: int, item: int = 2) -> None:
    """Allocates a decoder's weights, `item` bytes for each number."""
    job.alloc(32000 * width * item)
    for _ in range(layers):
        for size in (3 * width, width, 4 * width, 4 * width):
            job.alloc(width * size * item)
        for size in (3 * width, width, 4 * width, width, width, width):
            job.alloc(size * item)


def cache_by_token(job: Job) -> None:
    """Generates one batch: keys and values of each layer are allocated anew for each token."""
    layers, width, batch = 24, 1024, 16
    weights(job, layers, width)
    caches: list[int] = []
    for tokens in range(65, 321):
        job.iteration()
        grown: list[int] = []
        flow = job.alloc(batch * width * 2)
        for layer in range(layers):
            query = job.alloc(batch * 3 * width * 2)
            for half in range(2):
                grown.append(job.alloc(batch * tokens * width * 2))
                if caches:
                    job.free(caches[2 * layer + half])
            scores = job.alloc(batch * 16 * tokens * 2)
            attended = job.alloc(batch * width * 2)
            job.free(query, scores)
            inner = job.alloc(batch * 4 * width * 2)
            following = job.alloc(batch * width * 2)
            job.free(inner, attended, flow)
            flow = following
        caches = grown
        logits = job.alloc(batch * 32000 * 2)
        job.free(flow, logits)


def cache_by_request(job: Job) -> None:
    """Serves up to 16 requests at once, each with a prompt of its own."""
    layers, width = 16, 1024
    weights(job, layers, width)
    live: list[tuple[list[int], int, int]] = []  # caches, their tokens, and the tokens at their end
    for _ in range(500):
        job.iteration()
        if len(live) < 16 and job.random.random() < 0.3:
            tokens = job.random.randrange(128, 1024)
            caches: list[int] = []
            for _ in range(layers):
                query = job.alloc(3 * tokens * width * 2)
                scores = job.alloc(16 * tokens * tokens * 2)
                caches += [job.alloc(tokens * width * 2), job.alloc(tokens * width * 2)]
                job.free(query, scores)
            live.append((caches, tokens, tokens + job.random.randrange(50, 300)))
        following = []
        for caches, tokens, end in live:
            grown = []
            for cache in caches:
                grown.append(job.alloc((tokens + 1) * width * 2))
                job.free(cache)
            if tokens + 1 >= end:
                job.free(*grown)
            else:
                following.append((grown, tokens + 1, end))
        live = following


def paged_caches(job: Job) -> None:
    """Allocates caches in pages of one size, as serving engines do."""
    weights(job, 24, 1536)
    live: list[tuple[list[int], int]] = []  # pages, and their final number
    for step in range(3000):
        if step % 10 == 0:
            job.iteration()
        if job.random.random() < 0.35 and len(live) < 40:
            live.append(([], job.random.randrange(20, 120)))
        for pages, most in list(live):
            pages.append(job.alloc(16 * 1536 * 2 * 2 * 24 / 4))
            if len(pages) >= most:
                job.free(*pages)
                live.remove((pages, most))


def growing_batch(job: Job) -> None:
    """Searches the largest batch that fits."""
    layers, width, length = 12, 1024, 256
    weights(job, layers, width, item=4)
    for batch in (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32):
        for _ in range(3):
            job.iteration()
            saved: list[int] = []
            for _ in range(layers):
                for part in (1, 3, 1, 4, 4, 1):
                    saved.append(job.alloc(batch * length * width * 2 * part))
                job.free(job.alloc(batch * 16 * length * length * 2))
            logits = job.alloc(batch * length * 32000 * 4)
            gradients = []
            for _ in range(layers):
                for part in (3, 1, 4, 4):
                    gradients.append(job.alloc(part * width * width * 4))
                job.free(job.alloc(batch * length * width * 4 * 2))
                job.free(*[saved.pop() for _ in range(6)])
            job.free(logits, *gradients)


def experts(job: Job) -> None:
    """Has layers whose tokens are divided among experts, differently each time."""
    layers, width, count, tokens = 8, 1024, 8, 8192
    weights(job, layers * 3, width)
    for _ in range(40):
        job.iteration()
        saved: list[int] = []
        for _ in range(layers):
            saved.append(job.alloc(tokens * width * 2))
            inner = sorted(job.random.randrange(tokens) for _ in range(count - 1))
            outputs = []
            for low, high in zip([0, *inner], [*inner, tokens], strict=True):
                its = max(1, high - low)
                saved += [job.alloc(its * width * 2), job.alloc(its * 4 * width * 2)]
                scratch = job.alloc(its * 4 * width * 2)
                outputs.append(job.alloc(its * width * 2))
                job.free(scratch)
            together = job.alloc(tokens * width * 2)
            job.free(*outputs)
            saved.append(together)
        gradients = []
        for block in reversed(saved):
            gradients.append(job.alloc(job.random.choice([1, 4]) * width * width * 2))
            job.free(block)
        job.free(*gradients)


def varying_prompts(job: Job) -> None:
    """Has prompts of any length in batches of any size, without a cache."""
    width = 1024
    weights(job, 24, width)
    for _ in range(300):
        job.iteration()
        batch = job.random.randrange(1, 9)
        tokens = job.random.randrange(32, 1200)
        hidden = batch * tokens * width * 2
        flow = job.alloc(hidden)
        for _ in range(24):
            query = job.alloc(3 * hidden)
            scores = job.alloc(batch * 16 * tokens * tokens * 2)
            attended = job.alloc(hidden)
            job.free(query, scores)
            inner = job.alloc(4 * hidden)
            following = job.alloc(hidden)
            job.free(inner, attended, flow)
            flow = following
        logits = job.alloc(batch * tokens * 32000 * 2)
        job.free(flow)
        if job.random.random() < 0.3:
            job.free(job.alloc(batch * tokens * 32000 * 4))
        job.free(logits)


JOBS: dict[str, Callable[[Job], None]] = {
    "job-fixed-length": fixed_length,
    "job-varying-length": varying_length,
    "job-varying-resolution": varying_resolution,
    "job-train-and-generate": train_and_generate,
    "job-growing-caches": growing_caches,
    "job-odd-sizes": odd_sizes,
    "job-cache-by-token": cache_by_token,
    "job-cache-by-request": cache_by_request,
    "job-paged-caches": paged_caches,
    "job-growing-batch": growing_batch,
    "job-experts": experts,
    "job-varying-prompts": varying_prompts,
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
