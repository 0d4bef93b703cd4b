"""Compares results of functions by torch.compile on the GPU with PyTorch on the CPU.

compiled_values.py [NAME …] compares only the functions that it names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F

numbers = torch.Generator().manual_seed(0)


def normal(*shape: int, kind: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=numbers).to(kind)


def whole(below: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, below, shape, generator=numbers)


CASES: dict[str, tuple[Callable[..., torch.Tensor], list[torch.Tensor]]] = {
    "gelu": (lambda x: F.gelu(x) * 2 + 1, [normal(64, 100)]),
    "softmax": (lambda x: torch.softmax(x, -1), [normal(16, 300)]),
    "log_softmax": (lambda x: torch.log_softmax(x, -1).sum(0), [normal(16, 300)]),
    "layer_norm": (lambda x: F.layer_norm(x, (256,)), [normal(32, 256)]),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), [normal(8, 4, 5, 5)]),
    "rms_norm": (lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)), [normal(64, 512)]),
    "variance": (lambda x: x.var(-1), [normal(64, 512)]),
    "sum": (lambda x: (x * x).sum(), [normal(128, 129)]),
    "mean": (lambda x: x.mean(0), [normal(128, 129)]),
    "product": (lambda x: x.prod(-1), [normal(8, 9)]),
    "argmax": (lambda x: x.argmax(-1), [normal(30, 77)]),
    "maximum": (lambda x: x.max(-1).values, [normal(30, 77)]),
    "any": (lambda x: (x > 1.5).any(-1), [normal(8, 90)]),
    "cumsum": (lambda x: x.cumsum(-1), [normal(8, 200)]),
    "sort": (lambda x: x.sort(-1).values, [normal(8, 64)]),
    "topk": (lambda x: x.topk(5).values, [normal(8, 64)]),
    "bfloat16": (lambda x: torch.sin(x) * x + 1, [normal(64, 64, kind=torch.bfloat16)]),
    "bfloat16_sum": (lambda x: x.sum(-1), [normal(64, 64, kind=torch.bfloat16)]),
    "float16": (lambda x: torch.tanh(x) * x + 1, [normal(64, 64, kind=torch.float16)]),
    "float64": (lambda x: torch.exp(x).sum(0), [normal(33, 40, kind=torch.float64)]),
    "float8": (
        lambda x: x.to(torch.float8_e4m3fn).float(),
        [torch.cat([normal(98), torch.tensor([0.0, -0.0])])],
    ),
    "integers": (lambda x: (x * 3 + 1) // 2 % 7, [whole(200, 1000)]),
    "booleans": (lambda x, y: (x > y) & (x > 0), [normal(100), normal(100)]),
    "where": (lambda x: torch.where(x > 0, x.abs().log1p(), -x), [normal(1000)]),
    "power": (lambda x: (x.abs() + 0.1) ** 2.3, [normal(500)]),
    "erf": (lambda x: torch.erf(x) + torch.erfinv(x.clamp(-0.9, 0.9)), [normal(500)]),
    "rounding": (lambda x: torch.round(x * 3) + x.floor() + x.trunc(), [normal(100)]),
    "gather": (lambda x, i: x[i] * 2, [normal(50, 8), whole(50, 20)]),
    "scatter": (lambda x, i: x.new_zeros(10).index_add(0, i, x), [normal(100), whole(10, 100)]),
    "concatenate": (lambda x, y: torch.cat([x, y], -1) * 2, [normal(8, 9), normal(8, 3)]),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), [normal(32, 50), whole(50, 32)]),
    "gated": (lambda x, y: F.silu(x) * y, [normal(64, 64), normal(64, 64)]),
    "attention": (
        lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
        [normal(1, 2, 16, 8)],
    ),
    "convolution": (lambda x, w: F.relu(F.conv2d(x, w)), [normal(2, 3, 8, 8), normal(4, 3, 3, 3)]),
    "pooling": (lambda x: F.max_pool2d(x, 2) + 1, [normal(2, 3, 8, 8)]),
    "interpolate": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        [normal(1, 2, 5, 5)],
    ),
}


def main() -> None:
    for name in sys.argv[1:] or CASES:
        function, sources = CASES[name]
        wanted = function(*sources)
        got = torch.compile(function, dynamic=False)(*[source.cuda() for source in sources]).cpu()
        short = wanted.dtype in (torch.bfloat16, torch.float16)
        tolerance = 2e-2 if short else 1e-4
        right = torch.allclose(got.double(), wanted.double(), atol=tolerance, rtol=tolerance)
        print(f"{name} {'right' if right else 'wrong'}", flush=True)


main()
