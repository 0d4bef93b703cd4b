"""Runs kernels written in Triton, and compares their results with PyTorch on the CPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, out, n, by, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * by, mask=at < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, 0), mask=at < columns)


@triton.jit
def count(x, out, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def multiply(a, b, c, depth, SIZE: tl.constexpr, STEP: tl.constexpr):  # noqa: ANN001, ANN201
    rows = tl.arange(0, SIZE)
    columns = tl.arange(0, SIZE)
    steps = tl.arange(0, STEP)
    total = tl.zeros((SIZE, SIZE), dtype=tl.float32)
    for k in range(0, depth, STEP):
        left = tl.load(a + rows[:, None] * depth + k + steps[None, :])
        right = tl.load(b + (k + steps)[:, None] * SIZE + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * SIZE + columns[None, :], total)


@triton.jit
def choose(x, y, out, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at, mask=at < n)
    right = tl.load(y + at, mask=at < n)
    tl.store(out + at, tl.where(left > right, left * right, tl.maximum(left - right, left)), at < n)


def check(name: str, got: torch.Tensor, wanted: torch.Tensor, tolerance: float = 1e-5) -> None:
    right = torch.allclose(got.cpu(), wanted, atol=tolerance, rtol=tolerance)
    print(f"{name} {'right' if right else 'wrong'}", flush=True)


def main() -> None:
    numbers = torch.Generator().manual_seed(0)
    x = torch.randn(1000, generator=numbers)
    out = torch.empty(1000, device="cuda")
    scale[(8,)](x.cuda(), out, 1000, 2.5, BLOCK=128)
    check("scale", out, x * 2.5)

    x = torch.randn(12, 300, generator=numbers)
    out = torch.empty(12, 300, device="cuda")
    softmax[(12,)](x.cuda(), out, 300, BLOCK=512)
    check("softmax", out, x.softmax(-1))

    x = torch.randint(0, 10, (500,), generator=numbers)
    out = torch.zeros(10, dtype=torch.int64, device="cuda")
    count[(4,)](x.cuda(), out, 500, BLOCK=128)
    check("count", out, x.bincount(minlength=10))

    for kind in (torch.float16, torch.bfloat16):
        x = torch.randn(1000, generator=numbers).to(kind)
        y = torch.randn(1000, generator=numbers).to(kind)
        out = torch.empty(1000, dtype=kind, device="cuda")
        choose[(8,)](x.cuda(), y.cuda(), out, 1000, BLOCK=128)
        wanted = torch.where(x > y, x * y, torch.maximum(x - y, x))
        check(f"choose {kind}".replace("torch.", ""), out, wanted, 0)

    for kind in (torch.float16, torch.bfloat16, torch.float32):
        a = torch.randn(32, 64, generator=numbers).to(kind)
        b = torch.randn(64, 32, generator=numbers).to(kind)
        out = torch.empty(32, 32, device="cuda")
        multiply[(1,)](a.cuda(), b.cuda(), out, 64, SIZE=32, STEP=16)
        check(f"multiply {kind}".replace("torch.", ""), out, a.float() @ b.float(), 5e-2)


main()
