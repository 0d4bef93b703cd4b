"""Jobs of bench/model_clock.py that move memory: model_clock_moves.py JOB [--offload]

Each is written after its publication, and moves memory as its author describes, not as vramstow
does. It prints one line of JSON: seconds by the virtual clock of the simulated GPU, and the peak of
the memory.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator

import torch
from model_clock_jobs import now
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

GIBIBYTE = 1 << 30
Step = Callable[[], object]


class SideStream:
    """Copies saved tensors to page-locked memory while work runs, and back before the work that
    needs them."""

    def __init__(self, least_bytes: int) -> None:
        self._stream = torch.cuda.Stream()
        self._least = least_bytes
        self._kept: set[int] = set()

    def keep(self, module: nn.Module) -> None:
        self._kept |= {each.untyped_storage().data_ptr() for each in module.parameters()}

    def leave(self, tensor: Tensor) -> Tensor | tuple[Tensor, torch.cuda.Event]:
        is_small = tensor.nbytes < self._least or tensor.device.type != "cuda"
        if is_small or tensor.untyped_storage().data_ptr() in self._kept:
            return tensor
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            place = {"device": "cpu", "pin_memory": True}
            host = torch.empty(tensor.shape, dtype=tensor.dtype, **place)
            host.copy_(tensor, non_blocking=True)
            tensor.record_stream(self._stream)
            return host, self._stream.record_event()

    @staticmethod
    def back(packed: Tensor | tuple[Tensor, torch.cuda.Event]) -> Tensor:
        if isinstance(packed, Tensor):
            return packed
        host, event = packed
        event.wait()
        return host.to("cuda", non_blocking=True)

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        with torch.autograd.graph.saved_tensors_hooks(self.leave, self.back):
            yield


def pipeline(offload: bool) -> Step:
    """The first of four ranks with two stages each, 469.5 M parameters: 8 layers of 2,048 and
    32,000 words; 16 microbatches of 16 sequences of 256, interleaved one forward one backward. The
    published 44.2 samples a second on four GPUs are its time in f32, without TF32."""
    width, layers, words, microbatches, ahead = 2048, 4, 32000, 16, 11
    torch.set_default_device("cuda")
    make = functools.partial(
        nn.TransformerEncoderLayer, width, 16, 4 * width, batch_first=True, norm_first=True
    )
    stages = [nn.Sequential(*(make() for _ in range(layers))) for _ in range(2)]
    table = nn.Embedding(words, width)
    side = SideStream(1 << 20)
    for module in (*stages, table):
        side.keep(module)
    optimizer = torch.optim.Adam([each for part in (*stages, table) for each in part.parameters()])
    tokens = torch.zeros(16, 256, dtype=torch.long)
    around = side.around if offload else contextlib.nullcontext
    # PyTorch's pipeline stages hold memory for the data they receive, for each microbatch.
    arrivals = [torch.empty(16, 256, width) for _ in range(3 * microbatches)]

    def forward(chunk: int) -> Tensor:
        x = table(tokens) if chunk == 0 else arrivals[0].requires_grad_()
        with around():
            return stages[chunk](x)

    def step() -> None:
        order = [chunk for _ in range(microbatches // 4) for chunk in (0, 0, 0, 0, 1, 1, 1, 1)]
        under_way: list[Tensor] = []
        for chunk in order:
            under_way.append(forward(chunk))
            if len(under_way) == ahead:
                result = under_way.pop(0)
                result.backward(torch.ones_like(result))
        for result in under_way:
            result.backward(torch.ones_like(result))
        optimizer.step()
        optimizer.zero_grad()

    return step


class BroughtProduct(torch.autograd.Function):
    """Multiplies x by a frozen matrix that is on the host and is copied to the device each time."""

    @staticmethod
    def forward(context: object, x: Tensor, layer: HostLinear) -> Tensor:
        context.layer = layer  # type: ignore[attr-defined]
        return functional.linear(x, layer.bring())

    @staticmethod
    def backward(context: object, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return gradient @ context.layer.bring(), None  # type: ignore[attr-defined]


class HostLinear(nn.Module):
    """A matrix with an adapter of rank 128; it is on the GPU, or is copied from the host."""

    stream: torch.cuda.Stream | None = None

    def __init__(self, inputs: int, outputs: int, offload: bool) -> None:
        super().__init__()
        place = {"device": "cpu", "pin_memory": True} if offload else {"device": "cuda"}
        self.weight = torch.empty(outputs, inputs, dtype=torch.bfloat16, **place)
        self.offload = offload
        bf16 = {"dtype": torch.bfloat16, "device": "cuda", "bias": False}
        self.down, self.up = nn.Linear(inputs, 128, **bf16), nn.Linear(128, outputs, **bf16)

    def bring(self) -> Tensor:
        if HostLinear.stream is None:
            HostLinear.stream = torch.cuda.Stream()
        with torch.cuda.stream(HostLinear.stream):
            here = self.weight.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(HostLinear.stream)
        here.record_stream(torch.cuda.current_stream())
        return here

    def forward(self, x: Tensor) -> Tensor:
        y = BroughtProduct.apply(x, self) if self.offload else functional.linear(x, self.weight)
        return y + self.up(self.down(x))


class AdaptedBlock(nn.Module):
    def __init__(self, width: int, hidden: int, heads: int, offload: bool) -> None:
        super().__init__()
        make = functools.partial(HostLinear, offload=offload)
        self.parts = nn.ModuleList(make(width, width) for _ in range(4))
        self.gate, self.wide = make(width, hidden), make(width, hidden)
        self.narrow, self.heads = make(hidden, width), heads
        norm = functools.partial(nn.RMSNorm, device="cuda", dtype=torch.bfloat16)
        self.norms = nn.ModuleList(norm(width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = self.norms[0](x)
        query, key, value = (
            part(y).view(batch, length, self.heads, -1).transpose(1, 2) for part in self.parts[:3]
        )
        seen = functional.scaled_dot_product_attention(query, key, value)
        y = self.parts[3](seen.transpose(1, 2).reshape(batch, length, width))
        x = x + self.norms[1](y)
        y = self.norms[2](x)
        return x + self.norms[3](self.narrow(functional.silu(self.gate(y)) * self.wide(y)))


def adapters(offload: bool) -> Step:
    """Z-Image Turbo: 34 blocks of 3,840, 6 G parameters in bf16, adapters of rank 128, an image of
    1,536 x 1,536 (9,216 positions and about 128 of text), checkpoints; all matrices are on the
    host."""
    width, length = 3840, 9216 + 128
    blocks = [AdaptedBlock(width, 10240, 30, offload) for _ in range(34)]
    parameters = [each for block in blocks for each in block.parameters()]
    optimizer = torch.optim.AdamW(parameters)
    image = torch.ones(1, length, width, dtype=torch.bfloat16, device="cuda")

    def step() -> None:
        x = image.clone().requires_grad_()
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False)
        x.float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


class QwenBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        linear = functools.partial(nn.Linear, bias=False)
        self.query, self.key, self.value = (
            linear(4096, 4096),
            linear(4096, 1024),
            linear(4096, 1024),
        )
        self.out, self.gate, self.up = linear(4096, 4096), linear(4096, 12288), linear(4096, 12288)
        self.down = linear(12288, 4096)
        self.norms = nn.ModuleList(nn.RMSNorm(size) for size in (4096, 128, 128, 4096))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = self.norms[0](x)
        query = self.norms[1](self.query(y).view(batch, length, 32, 128)).transpose(1, 2)
        key = self.norms[2](self.key(y).view(batch, length, 8, 128)).transpose(1, 2)
        value = self.value(y).view(batch, length, 8, 128).transpose(1, 2)
        key, value = (each.repeat_interleave(4, dim=1) for each in (key, value))
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        y = self.norms[3](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def checkpoints(offload: bool) -> Step:
    """Qwen3-8B with all parameters trained, a sequence of 32,768, and checkpoints whose inputs are
    moved to the host; without the optimizer's states, since the published saving excludes them."""
    torch.set_default_device("cuda")
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("meta"):
        table, norm = nn.Embedding(151936, 4096), nn.RMSNorm(4096)
        head = nn.Linear(4096, 151936, bias=False)
        blocks = nn.ModuleList(QwenBlock() for _ in range(36))
    parts = (table, norm, head, blocks)
    for part in parts:
        part.to_empty(device="cuda")
    tokens = torch.zeros(1, 32768, dtype=torch.long)
    side = SideStream(1 << 20)

    def step() -> None:
        x = table(tokens)
        around = side.around if offload else contextlib.nullcontext
        for block in blocks:
            with around():
                x = checkpoint(block, x, use_reentrant=False)
        logits = head(norm(x)).flatten(0, 1)
        functional.cross_entropy(logits, tokens.flatten()).backward()
        for part in parts:
            part.zero_grad()

    return step


def saver(keeps: bool) -> dict[str, float]:
    """torch_memory_saver's pause and resume of 4 GiB: page-locked memory is allocated, the bytes
    are copied to it, the GPU's memory is released; and then the reverse."""
    tensor = torch.empty(4 * GIBIBYTE, dtype=torch.uint8, device="cuda")
    host = None
    for _ in range(3):
        begin = now()
        if host is None:
            host = torch.empty(4 * GIBIBYTE, dtype=torch.uint8, pin_memory=True)
        host.copy_(tensor, non_blocking=True)
        torch.cuda.synchronize()
        del tensor
        torch.cuda.empty_cache()
        paused = now()
        tensor = torch.empty(4 * GIBIBYTE, dtype=torch.uint8, device="cuda")
        tensor.copy_(host, non_blocking=True)
        torch.cuda.synchronize()
        if not keeps:
            host = None
            torch._C._host_emptyCache()
        resumed = now()
    return {"pause": paused - begin, "resume": resumed - paused}


JOBS = {"pipeline": pipeline, "adapters": adapters, "checkpoints": checkpoints}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=(*JOBS, "saver"))
    parser.add_argument("--offload", action="store_true", help="saver: keep the host's memory")
    parser.add_argument("--steps", type=int, default=3)
    given = parser.parse_args()
    if given.job == "saver":
        print(json.dumps(saver(given.offload)))
        return 0
    step = JOBS[given.job](given.offload)
    times = [now()]
    for _ in range(given.steps):
        step()
        times.append(now())
    free, total = torch.cuda.mem_get_info()
    print(
        json.dumps(
            {
                "seconds": times[-1] - times[-2],
                "allocated": torch.cuda.max_memory_allocated(),
                "used": total - free,  # the driver's count
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
