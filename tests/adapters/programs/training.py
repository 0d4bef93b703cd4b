"""Trains a small decoder in the way that its argument names, with all random numbers fixed.

python training.py NAME [--steps N]; with RANK set, the distributed ones.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from watched import watching

WIDTH, HEADS, LAYERS, WORDS = 64, 4, 2, 97


class Block(nn.Module):
    """A decoder layer that can cache keys and values: RMS norm, rotation, gated units."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.RMSNorm(WIDTH)
        self.second = nn.RMSNorm(WIDTH)
        self.queries = nn.Linear(WIDTH, WIDTH, bias=False)
        self.keys = nn.Linear(WIDTH, WIDTH, bias=False)
        self.values = nn.Linear(WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def attend(self, seen: torch.Tensor, past: list[torch.Tensor] | None) -> torch.Tensor:
        batch, length, _ = seen.shape
        parts = [
            layer(seen).view(batch, length, HEADS, -1).transpose(1, 2)
            for layer in (self.queries, self.keys, self.values)
        ]
        if past is not None:
            if past:
                keys, values = past
                parts[1:] = [torch.cat((keys, parts[1]), 2), torch.cat((values, parts[2]), 2)]
            past[:] = parts[1:]
        scores = parts[0] @ parts[1].transpose(2, 3) / (WIDTH // HEADS) ** 0.5
        mixed = functional.softmax(scores, dim=-1) @ parts[2]
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, seen: torch.Tensor, past: list[torch.Tensor] | None = None) -> torch.Tensor:
        seen = seen + self.attend(self.first(seen), past)
        mixed = self.second(seen)
        return seen + self.down(functional.silu(self.gate(mixed)) * self.up(mixed))


class Decoder(nn.Module):
    """Maps words to scores of words."""

    def __init__(self, wrap: Callable[..., torch.Tensor] | None = None) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.wrap = wrap

    def forward(
        self, batch: torch.Tensor, past: list[list[torch.Tensor]] | None = None
    ) -> torch.Tensor:
        seen = self.words(batch)
        for number, block in enumerate(self.blocks):
            if self.wrap is not None:
                seen = self.wrap(block, seen)
            else:
                seen = block(seen, None if past is None else past[number])
        return self.head(self.norm(seen))


def say(*words: object) -> None:
    """Writes one line in one call, so that ranks with the same output do not mix their lines."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def batch_of(length: int = 24, rows: int = 4) -> torch.Tensor:
    return (torch.arange(rows * length).view(rows, length) * 7 % WORDS).to(DEVICE)


def loss_of(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    scores = model(batch)
    return functional.cross_entropy(scores[:, :-1].reshape(-1, WORDS), batch[:, 1:].reshape(-1))


def train(model: nn.Module, steps: int, lengths: tuple[int, ...] = (24,)) -> None:
    wanted = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(wanted, lr=1e-3)
    for step in range(steps):
        loss = loss_of(model, batch_of(lengths[step % len(lengths)]))
        loss.backward()
        nn.utils.clip_grad_norm_(wanted, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        say("step", step, tuple(loss.shape))


def decoder(steps: int) -> None:
    model = Decoder().to(DEVICE)
    train(model, steps, (24, 17, 40))
    with torch.no_grad():
        past: list[list[torch.Tensor]] = [[] for _ in range(LAYERS)]
        word = batch_of(8, 2)
        for _ in range(6):
            word = model(word, past)[:, -1:].argmax(-1)
        say("generated", tuple(word.shape), past[0][0].shape[2])


class LowRank(nn.Module):
    """A frozen layer and a small trained one."""

    def __init__(self, layer: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Linear(layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, layer.out_features, bias=False)

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        return self.layer(seen) + self.up(self.down(seen)) * 2.0


def lora(steps: int) -> None:
    model = Decoder().requires_grad_(False)
    for block in model.blocks:
        block.queries = LowRank(block.queries)
        block.values = LowRank(block.values)
    train(model.to(DEVICE), steps)


def amp(steps: int) -> None:
    model = Decoder().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for step in range(steps):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_of(model, batch_of())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        say("step", step)


def checkpoint_reentrant(steps: int) -> None:
    train(
        Decoder(lambda block, seen: checkpoint(block, seen, use_reentrant=True)).to(DEVICE), steps
    )


def checkpoint_saved(steps: int) -> None:
    wrap = lambda block, seen: checkpoint(block, seen, use_reentrant=False)  # noqa: E731
    train(Decoder(wrap).to(DEVICE), steps)


def accumulation(steps: int) -> None:
    model = Decoder().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        for part in range(3):
            (loss_of(model, batch_of(16 + part)) / 3).backward()
        optimizer.step()
        optimizer.zero_grad()
        say("step", step)


def compiled(mode: str, steps: int) -> None:
    model = Decoder().to(DEVICE)
    made = torch.compile(model, mode=mode)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        torch.compiler.cudagraph_mark_step_begin()
        loss = loss_of(made, batch_of())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        say("step", step)


def compile_default(steps: int) -> None:
    compiled("default", steps)


def compile_graphs(steps: int) -> None:
    compiled("reduce-overhead", steps)


def pools(steps: int) -> None:
    model = Decoder().to(DEVICE)
    pool = torch.cuda.MemPool()
    for step in range(steps):
        with torch.cuda.use_mem_pool(pool):
            batch = batch_of(20 + step)
            kept = torch.empty(1 << 16, device=DEVICE)
        loss_of(model, batch).backward()
        del kept
        say("step", step, pool.use_count())


def two_streams(steps: int) -> None:
    model = Decoder().to(DEVICE)
    side = torch.cuda.Stream()
    for step in range(steps):
        with torch.cuda.stream(side):
            ahead = batch_of(24 + step)
            noise = torch.full((1 << 14,), 0.5, device=DEVICE)
        torch.cuda.current_stream().wait_stream(side)
        ahead.record_stream(torch.cuda.current_stream())
        noise.record_stream(torch.cuda.current_stream())
        loss_of(model, ahead).backward()
        del ahead, noise
        torch.cuda.synchronize()
        say("step", step)


def saved_tensors(steps: int) -> None:
    model = Decoder().to(DEVICE)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        train(model, steps)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.to(DEVICE)):
        train(model, steps)


def prefetch(steps: int) -> None:
    model = Decoder().to(DEVICE)
    copier = torch.cuda.Stream()
    data = torch.utils.data.TensorDataset(batch_of(32, 4 * (steps + 1)).cpu())
    loader = iter(torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True, num_workers=1))

    def ahead() -> torch.Tensor:
        with torch.cuda.stream(copier):
            return next(loader)[0].to(DEVICE, non_blocking=True)

    batch = ahead()
    for step in range(steps):
        torch.cuda.current_stream().wait_stream(copier)
        batch.record_stream(torch.cuda.current_stream())
        following = ahead()
        loss_of(model, batch).backward()
        batch = following
        torch.cuda.synchronize()
        say("step", step)


def graphs(steps: int) -> None:
    model = Decoder().to(DEVICE)
    batch = batch_of()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            loss_of(model, batch).backward()
    torch.cuda.current_stream().wait_stream(side)
    model.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss_of(model, batch).backward()
    for step in range(steps):
        graph.replay()
        say("step", step)


def distributed(steps: int) -> None:
    model = nn.parallel.DistributedDataParallel(Decoder().to(DEVICE), device_ids=[DEVICE.index])
    train(model, steps)


def sharded(steps: int) -> None:
    from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

    model = Decoder()
    for block in model.blocks:
        fully_shard(block, offload_policy=CPUOffloadPolicy())
    fully_shard(model, offload_policy=CPUOffloadPolicy())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        loss_of(model, batch_of()).backward()
        optimizer.step()
        optimizer.zero_grad()
        say("step", step)


def score(inbox: multiprocessing.Queue, outbox: multiprocessing.Queue) -> None:
    """The other process of `sharing`: it scores weights and words that the first process owns."""
    torch.manual_seed(1)
    with watching("child"):
        while (shared := inbox.get()) is not None:
            weight, words = shared
            scores = functional.one_hot(words, WORDS).float() @ weight
            outbox.put((scores, tuple(scores.shape)))
            # The receiver reports that it has freed the tensor, so that this process can free it,
            # too.
            inbox.get()
            del shared, weight, words, scores


def sharing(steps: int) -> None:
    context = multiprocessing.get_context("spawn")
    there, back = context.Queue(), context.Queue()
    child = context.Process(target=score, args=(there, back))
    child.start()
    model = Decoder().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = model.words.weight.detach()
    for step in range(steps):
        words = batch_of(16 + step)
        there.put((weight, words))
        scores, shape = back.get()
        loss = loss_of(model, words) + scores.square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        say("step", step, shape, tuple(scores.shape))
        del scores, loss, words
        there.put("done")
    there.put(None)
    child.join()
    say("exit", child.exitcode)


WAYS = {
    way.__name__: way
    for way in (
        *(decoder, lora, amp, checkpoint_reentrant, checkpoint_saved, accumulation, graphs),
        *(compile_default, compile_graphs, pools, two_streams, saved_tensors, prefetch),
        *(distributed, sharded, sharing),
    )
}


def main() -> None:
    global DEVICE
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rank = os.environ.get("LOCAL_RANK")
    DEVICE = torch.device("cuda", int(rank or 0))
    torch.cuda.set_device(DEVICE)
    if rank is not None:
        dist.init_process_group("gloo")
    WAYS[arguments.way](arguments.steps)
    if rank is not None:
        dist.destroy_process_group()


DEVICE = torch.device("cuda", 0)
if __name__ == "__main__":
    main()
