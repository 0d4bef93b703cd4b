"""Multiplies matrices in blocks of 64 rows and more with Triton, and compares with the CPU.

A GPU of capability 9.0 does such products by warpgroups, from matrices in shared memory.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def multiply(  # noqa: ANN201
    a,  # noqa: ANN001
    b,  # noqa: ANN001
    c,  # noqa: ANN001
    rows,  # noqa: ANN001
    columns,  # noqa: ANN001
    depth,  # noqa: ANN001
    a_row,  # noqa: ANN001
    a_step,  # noqa: ANN001
    b_step,  # noqa: ANN001
    b_column,  # noqa: ANN001
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    SUM: tl.constexpr,
):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, K)
    left = a + m[:, None] * a_row + k[None, :] * a_step
    right = b + k[:, None] * b_step + n[None, :] * b_column
    total = tl.zeros((M, N), dtype=SUM)
    for done in range(0, depth, K):
        x = tl.load(left, mask=(m[:, None] < rows) & (k[None, :] < depth - done), other=0.0)
        y = tl.load(right, mask=(k[:, None] < depth - done) & (n[None, :] < columns), other=0.0)
        total = tl.dot(x, y, total, out_dtype=SUM)
        left += K * a_step
        right += K * b_step
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tl.store(c + m[:, None] * columns + n[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def attend(q, k, v, out, length, scale, SIZE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):  # noqa: ANN001, ANN201
    head = tl.program_id(1) * length * SIZE
    rows = tl.program_id(0) * M + tl.arange(0, M)
    place = tl.arange(0, SIZE)
    queries = tl.load(q + head + rows[:, None] * SIZE + place[None, :])
    largest = tl.full((M,), -float("inf"), dtype=tl.float32)
    powers = tl.zeros((M,), dtype=tl.float32)
    total = tl.zeros((M, SIZE), dtype=tl.float32)
    for start in range(0, length, N):
        columns = start + tl.arange(0, N)
        keys = tl.load(k + head + columns[None, :] * SIZE + place[:, None])
        scores = tl.dot(queries, keys) * scale
        highest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp(scores - highest[:, None])
        before = tl.exp(largest - highest)
        values = tl.load(v + head + columns[:, None] * SIZE + place[None, :])
        total = tl.dot(weights.to(values.dtype), values, total * before[:, None])
        powers = powers * before + tl.sum(weights, 1)
        largest = highest
    result = total / powers[:, None]
    tl.store(out + head + rows[:, None] * SIZE + place[None, :], result.to(out.dtype.element_ty))


def say(name: str, got: Tensor, wanted: Tensor, tolerance: float) -> None:
    error = (got.cpu().float() - wanted.float()).abs().max()
    right = bool(error <= tolerance * wanted.abs().max())
    print(f"{name} {'right' if right else f'wrong by {error}'}", flush=True)


def product(name: str, a: Tensor, b: Tensor, blocks: tuple[int, int, int], **options: int) -> None:
    """Multiplies a and b, which may be transposed views."""
    whole = not a.dtype.is_floating_point
    rows, depth = a.shape
    columns = b.shape[1]
    c = torch.full((rows, columns), 7, dtype=torch.int32 if whole else torch.float32).cuda()
    on_card = [x.t().cuda().t() if x.stride(0) == 1 else x.cuda() for x in (a, b)]
    strides = [stride for x in on_card for stride in x.stride()]
    grid = (triton.cdiv(rows, blocks[0]), triton.cdiv(columns, blocks[1]))
    total = tl.int32 if whole else tl.float32
    done = multiply[grid](
        *on_card, c, rows, columns, depth, *strides, *blocks, SUM=total, **options
    )
    wanted = a.int() @ b.int() if whole else a.float() @ b.float()
    by_groups = "wgmma" in done.asm["ptx"]
    say(f"{name}{' by warpgroups' if by_groups else ''}", c, wanted, 2e-3)


def main() -> None:
    numbers = torch.Generator().manual_seed(0)

    def matrix(rows: int, columns: int, kind: torch.dtype) -> Tensor:
        if kind == torch.int8:
            return torch.randint(-9, 9, (rows, columns), generator=numbers).to(kind)
        return torch.randn(rows, columns, generator=numbers).to(kind)

    for kind in (torch.float16, torch.bfloat16, torch.float32):
        name = str(kind).removeprefix("torch.")
        product(name, matrix(100, 96, kind), matrix(96, 80, kind), (64, 64, 64))
        turned = matrix(80, 96, kind).t()
        product(f"{name} turned", matrix(96, 100, kind).t(), turned, (64, 32, 32))
    half = torch.float16
    product("wide", matrix(128, 64, half), matrix(64, 256, half), (128, 256, 32), num_warps=8)
    product("narrow", matrix(64, 64, half), matrix(64, 16, half), (64, 16, 16))
    for kind in (torch.float8_e4m3fn, torch.float8_e5m2, torch.int8):
        name = str(kind).removeprefix("torch.")
        product(name, matrix(64, 128, kind), matrix(64, 128, kind).t(), (64, 64, 64))
    for kind in (torch.float16, torch.bfloat16):
        q, k, v = (torch.randn(2, 128, 64, generator=numbers).to(kind) for _ in range(3))
        out = torch.empty(2, 128, 64, dtype=kind, device="cuda")
        done = attend[(2, 2)](q.cuda(), k.cuda(), v.cuda(), out, 128, 0.125, SIZE=64, M=64, N=64)
        wanted = (q.float() @ k.float().mT * 0.125).softmax(-1) @ v.float()
        name = f"attention {kind}".replace("torch.", "")
        say(name + " by warpgroups" * ("wgmma" in done.asm["ptx"]), out, wanted, 1e-2)


main()
