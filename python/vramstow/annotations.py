"""Annotations that a program adds to the trace: moments, ranges, iterations, what blocks are for.

Without a trace the functions do nothing and return False: without vramstow, with --no-trace, and
before CUDA is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import ContextDecorator
from types import TracebackType
from typing import TYPE_CHECKING

from vramstow import library

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle

_MOST = 1023  # bytes of a text that the library keeps


def _emit(name: str, *arguments: object) -> bool:
    found = library.function(name)
    return found is not None and found(*arguments) == library.OK


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")[:_MOST].replace(b"\0", b" ")


def mark(text: str) -> bool:
    """Marks a moment, in order among the allocations."""
    return _emit("vramstow_mark", _text(text))


def iteration(number: int) -> bool:
    """Marks the begin of an iteration, of training or of what else the program repeats."""
    return _emit("vramstow_iteration", ctypes.c_uint64(number))


class range(ContextDecorator):
    """A named piece of the program. A range belongs to its thread, and ranges nest.

    with vramstow.range("validation"):
        ...
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._open: list[bool] = []

    def __enter__(self) -> range:
        self._open.append(_emit("vramstow_range_push", _text(self.text)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # If the range began before the trace did, its end is not recorded either.
        if self._open.pop():
            _emit("vramstow_range_pop")


def _memory_of(tensor: torch.Tensor) -> tuple[int, int]:
    """Address and bytes of the tensor's memory on a device; zeros for a tensor without its own.

    For a tensor whose parts lie on several ranks (DTensor, as in FSDP2): the part of this rank.
    """
    if not getattr(tensor, "is_cuda", False):
        return 0, 0
    if hasattr(tensor, "to_local"):
        tensor = tensor.detach().to_local()
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    except RuntimeError:  # a tensor without memory of its own (FakeTensor, wrappers)
        return 0, 0


def _emit_category(category: str, name: str, tensor: torch.Tensor) -> int:
    """Writes what the tensor's memory is for; returns 0 without device memory or trace, else 1."""
    address, size = _memory_of(tensor)
    if not address or not size:
        return 0
    return int(mark(f"vramstow.category {category} 0x{address:x} {size} {name}"))


def annotate_memory(category: str, tensors: Iterable[torch.Tensor], name: str = "") -> int:
    """Writes into the trace that these tensors are of this category; returns of how many.

    The categories are those of vramstow analyze: parameters, gradients, optimizer_state,
    activations, temporaries, inputs, workspaces, caches, kept. The note is for the blocks that the
    tensors have now.
    """
    return sum(_emit_category(category, name, tensor) for tensor in tensors)


def _state_of(optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, torch.Tensor]]:
    for number, state in enumerate(optimizer.state.values()):
        for key, value in state.items():
            yield f"{key}.{number}", value


class Annotated:
    """Keeps the notes on a model's memory up to date, until `remove` is called."""

    def __init__(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
    ) -> None:
        self._model = model
        self._emitted: dict[str, int] = {}
        self._handles: list[RemovableHandle] = []
        self.again()
        if optimizer is not None:
            self._handles = [
                optimizer.register_step_pre_hook(self._before_step),
                optimizer.register_step_post_hook(self._after_step),
            ]
            self._emit_state(optimizer)

    def _emit_once(self, category: str, name: str, tensor: torch.Tensor) -> None:
        """Writes one note for each block."""
        address, _ = _memory_of(tensor)
        if not address:
            return
        key = f"{category} {name}"
        if self._emitted.get(key) != address and _emit_category(category, name, tensor):
            self._emitted[key] = address

    def again(self) -> None:
        """Writes notes for parameters and buffers that are new or have moved."""
        for name, parameter in self._model.named_parameters():
            self._emit_once("parameters", name, parameter)
        for name, buffer in self._model.named_buffers():
            self._emit_once("parameters", name, buffer)

    def _before_step(self, _optimizer: object, _args: object, _kwargs: object) -> None:
        # Programs often make new gradients in each step, so each step gets new notes.
        for name, parameter in self._model.named_parameters():
            if parameter.grad is not None:
                _emit_category("gradients", name, parameter.grad)

    def _after_step(self, optimizer: torch.optim.Optimizer, _args: object, _kwargs: object) -> None:
        self._emit_state(optimizer)

    def _emit_state(self, optimizer: torch.optim.Optimizer) -> None:
        for name, value in _state_of(optimizer):
            self._emit_once("optimizer_state", name, value)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []


def annotate_parameters(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> Annotated:
    """Writes what the memory of a model is for, so that vramstow analyze need not guess.

    Call it when the model is on its device. Parameters and buffers get a note at once, gradients
    before each step of the optimizer, and the optimizer's state after the step that makes it.
    """
    return Annotated(model, optimizer)
