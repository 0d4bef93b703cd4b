"""A kernel in Triton for planned_decoder.py, which many machines cannot import."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def scale(x, n, by, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * by, mask=at < n)
