"""Kernels that are launched only to measure them count how often they were computed.

triton_trials.py [compiled]: also a product for which torch.compile measures several kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
import triton
import triton.language as tl
import triton.testing


@triton.jit
def double(source, result, counter, count, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + at, tl.load(source + at, at < count) * 2, at < count)
    if program == 0:
        tl.atomic_add(counter, 1)


CONFIGS = [triton.Config({"BLOCK": block}) for block in (64, 128, 256)]
double_tuned = triton.autotune(CONFIGS, key=["count"])(double)


def tell(name: str, computed: int, right: bool) -> None:
    print(f"{name} computed {computed} times {'right' if right else 'wrong'}", flush=True)


def main() -> None:
    source = torch.arange(1000.0, device="cuda")

    def check(name: str, begin: Callable[[Callable[..., object]], object]) -> None:
        result = torch.zeros_like(source)
        counter = torch.zeros(1, dtype=torch.int32, device="cuda")

        def launch(kernel: object = double, **named: int) -> None:
            grid = lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)  # noqa: E731
            kernel[grid](source, result, counter, 1000, **named)

        begin(launch)
        tell(name, int(counter), torch.equal(result, source * 2))

    check("autotuned", lambda launch: launch(double_tuned))
    check("measured", lambda launch: triton.testing.do_bench(lambda: launch(BLOCK=128)))
    check("captured", lambda launch: triton.testing.do_bench_cudagraph(lambda: launch(BLOCK=128)))
    if sys.argv[1:] == ["compiled"]:
        product = torch.compile(lambda a, b: torch.relu(a @ b), mode="max-autotune-no-cudagraphs")
        left, right = torch.randn(128, 256), torch.randn(256, 192)
        got = product(left.cuda(), right.cuda()).cpu()
        tell("compiled", 1, torch.allclose(got, torch.relu(left @ right), atol=1e-3))


main()
