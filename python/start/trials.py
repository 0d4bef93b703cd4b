"""Stops the simulated card from computing work that a program launches only to measure its time.

Autotuning launches each of its candidates hundreds of times and ignores their results. Computing
them would take minutes, and would use up the time that is reserved for results that matter.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType

_BENCHMARKING = "torch._inductor.runtime.benchmarking"
# Modules, each with the function that changes the module after it has been imported.
_TRIALS = {
    "triton.testing": lambda module: _prepare_testing(module),
    "triton.runtime.autotuner": lambda module: _wrap(module.Autotuner, "_bench"),
    _BENCHMARKING: lambda module: _prepare_benchmarking(module),
}
MODULES = tuple(_TRIALS)


def prepare(module: ModuleType) -> None:
    """Changes one of MODULES just after its import."""
    _TRIALS[module.__name__](module)


class _Trial:
    """A context in which work of this thread takes its time on the card but has no results."""

    _change: Callable[[int], object] | None = None

    def __enter__(self) -> None:
        if _Trial._change is None:
            driver = ctypes.CDLL("libcuda.so.1")
            _Trial._change = driver.vramstowSimulatorTry
        _Trial._change(1)

    def __exit__(self, *_: object) -> None:
        assert _Trial._change is not None
        _Trial._change(-1)


def _wrap(owner: type, name: str) -> None:
    """Discards the results of all work that the function launches."""
    inner = getattr(owner, name)

    def tried(*arguments: object, **named: object) -> object:
        with _Trial():
            return inner(*arguments, **named)

    setattr(owner, name, tried)


def _but_for_the_first(launch: Callable[..., object]) -> Callable[..., object]:
    """Discards the results of all calls but the first, because a program may look at that one."""
    first = True

    def call(*arguments: object, **named: object) -> object:
        nonlocal first
        if first:
            first = False
            return launch(*arguments, **named)
        with _Trial():
            return launch(*arguments, **named)

    return call


def _wrap_measured(module: ModuleType, name: str) -> None:
    measure = getattr(module, name)

    def measured(fn: Callable[..., object], *arguments: object, **named: object) -> object:
        return measure(_but_for_the_first(fn), *arguments, **named)

    measured.__name__ = name
    measured.__wrapped__ = measure  # inspect.signature() finds the original parameters
    setattr(module, name, measured)


def _prepare_testing(module: ModuleType) -> None:
    for name in ("do_bench", "do_bench_cudagraph"):
        if hasattr(module, name):
            _wrap_measured(module, name)


def _prepare_benchmarking(module: ModuleType) -> None:
    for one in vars(module).values():
        if isinstance(one, type) and one.__module__ == _BENCHMARKING:
            for name in ("benchmark_gpu", "benchmark_gpu_with_cuda_graph"):
                if name in vars(one):
                    _wrap(one, name)
