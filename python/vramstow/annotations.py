"""Adds a program's annotations to the trace: moments, ranges, iterations, and purposes of memory.

Without a trace the functions do nothing and return False. That is so without vramstow and with
--no-trace. The trace begins with the first use of CUDA: what the thread annotated before is in it
if it is still open then (ranges, and the last iteration).
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

_MOST = 1023  # the most bytes of a text that the library records
_MOST_LEVELS = 8  # the most wrappers around an optimizer that are looked into

# The categories that the analysis knows (tools/analysis/explain/categories.cc).
_CATEGORIES = (
    "parameters",
    "gradients",
    "optimizer_state",
    "activations",
    "temporaries",
    "inputs",
    "workspaces",
    "caches",
    "kept",
)


def _emit(name: str, *arguments: object) -> bool:
    found = library.function(name)
    return found is not None and found(*arguments) == library.OK


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")[:_MOST].replace(b"\0", b" ")


def mark(text: str) -> bool:
    """Marks a moment in the trace."""
    return _emit("vramstow_mark", _text(text))


def iteration(number: int) -> bool:
    """Marks the beginning of an iteration of training, or of any other loop of the program."""
    return _emit("vramstow_iteration", ctypes.c_uint64(number))


class range(ContextDecorator):
    """A named part of the program. A range belongs to its thread. Ranges nest.

    with vramstow.range("validation"):
        ...
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_in_trace = False  # whether the last beginning was recorded
        self._open: list[bool] = []

    def __enter__(self) -> range:
        self.is_in_trace = _emit("vramstow_range_push", _text(self.text))
        self._open.append(self.is_in_trace)
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
    """Returns address and bytes of the tensor's memory on a device; zeros if it owns none.

    For a tensor that is distributed over several ranks (DTensor, as in FSDP2), this is the memory
    of this rank's part.
    """
    if not getattr(tensor, "is_cuda", False):
        return 0, 0
    if hasattr(tensor, "to_local"):
        tensor = tensor.detach().to_local()
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    except RuntimeError:  # the tensor has no memory of its own (FakeTensor, wrappers)
        return 0, 0


def _emit_category(category: str, name: str, tensor: torch.Tensor) -> int:
    """Records the purpose of the tensor's memory; returns 1 if that was possible, else 0."""
    address, size = _memory_of(tensor)
    if not address or not size:
        return 0
    return int(mark(f"vramstow.category {category} 0x{address:x} {size} {name}"))


def annotate_memory(category: str, tensors: Iterable[torch.Tensor], name: str = "") -> int:
    """Records the category of these tensors' memory; returns the number of recorded tensors.

    The categories are those of vramstow analyze: parameters, gradients, optimizer_state,
    activations, temporaries, inputs, workspaces, caches, kept. Any other raises ValueError. The
    note applies to the blocks that the tensors have now.
    """
    if category not in _CATEGORIES:
        raise ValueError(f"{category!r} is no category: give one of {', '.join(_CATEGORIES)}")
    if hasattr(tensors, "untyped_storage"):  # one tensor; iterating it would give its rows
        tensors = (tensors,)
    return sum(_emit_category(category, name, tensor) for tensor in tensors)


def _levels_of(optimizer: torch.optim.Optimizer) -> list[torch.optim.Optimizer]:
    """Returns the optimizer, and the one inside of each wrapper, such as those of accelerate."""
    levels = [optimizer]
    while len(levels) < _MOST_LEVELS:
        inner = getattr(levels[-1], "optimizer", None)
        if not hasattr(inner, "param_groups"):
            break
        levels.append(inner)
    return levels


def _state_of(optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, torch.Tensor]]:
    for number, state in enumerate(getattr(optimizer, "state", {}).values()):
        for key, value in state.items():
            yield f"{key}.{number}", value


class Annotated:
    """Updates the notes on a model's memory until `remove` is called."""

    def __init__(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
    ) -> None:
        self._model = model
        self._levels = [] if optimizer is None else _levels_of(optimizer)
        self._emitted: dict[str, int] = {}
        self._handles: list[RemovableHandle] = []
        self.again()
        # A wrapper may be an Optimizer whose __init__ was not called, and which takes no hooks.
        if self._levels and not any(self._watch_steps(level) for level in self._levels):
            self._emit_gradients()  # those that exist now; later ones get no notes
        self._emit_state()

    def _watch_steps(self, optimizer: torch.optim.Optimizer) -> bool:
        """Adds hooks to the optimizer; returns False if it takes none."""
        try:
            self._handles.append(optimizer.register_step_pre_hook(self._before_step))
            self._handles.append(optimizer.register_step_post_hook(self._after_step))
        except AttributeError:
            self.remove()
            return False
        return True

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
        # Programs often make new gradient tensors in each step, so each step adds notes for them.
        self._emit_gradients()

    def _emit_gradients(self) -> None:
        for name, parameter in self._model.named_parameters():
            if parameter.grad is not None:
                _emit_category("gradients", name, parameter.grad)

    def _after_step(self, _optimizer: object, _args: object, _kwargs: object) -> None:
        self._emit_state()

    def _emit_state(self) -> None:
        for level in self._levels:
            for name, value in _state_of(level):
                self._emit_once("optimizer_state", name, value)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []


def annotate_parameters(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> Annotated:
    """Records the purpose of a model's memory, so that vramstow analyze need not guess it.

    Call it when the model is on its device. It writes notes for parameters and buffers at once, for
    gradients before each step of the optimizer, and for the optimizer's state after the step that
    makes it. If the optimizer takes no hooks, there are notes only for what exists now.
    """
    return Annotated(model, optimizer)
