"""What a program tells the trace: moments, ranges, iterations, and what blocks are for.

All of it gives False, and does nothing, where there is no trace: without vramstow, with --no-trace,
and before CUDA is used.
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


def _tell(name: str, *arguments: object) -> bool:
    found = library.function(name)
    return found is not None and found(*arguments) == library.OK


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")[:_MOST].replace(b"\0", b" ")


def mark(text: str) -> bool:
    """A moment, in the order of the allocations around it."""
    return _tell("vramstow_mark", _text(text))


def iteration(number: int) -> bool:
    """A new iteration begins here, of training or whatever the program repeats."""
    return _tell("vramstow_iteration", ctypes.c_uint64(number))


class range(ContextDecorator):
    """A piece of the program, by name; ranges belong to their thread and nest.

    with vramstow.range("validation"):
        ...
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._open: list[bool] = []

    def __enter__(self) -> range:
        self._open.append(_tell("vramstow_range_push", _text(self.text)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # One that began before there was a trace has no end there, either.
        if self._open.pop():
            _tell("vramstow_range_pop")


def _memory_of(tensor: torch.Tensor) -> tuple[int, int]:
    """Address and bytes of the tensor's memory on a device; zeros where it has none of its own.

    Of a tensor that is shared out over ranks (DTensor, as FSDP2 has them) this rank's part.
    """
    if not getattr(tensor, "is_cuda", False):
        return 0, 0
    if hasattr(tensor, "to_local"):
        tensor = tensor.detach().to_local()
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    except RuntimeError:  # a tensor that stands for others (FakeTensor, wrappers)
        return 0, 0


def _tell_category(category: str, name: str, tensor: torch.Tensor) -> int:
    """Tells what the tensor's memory is for. 1: told; 0: it has none on a device, or no trace."""
    address, size = _memory_of(tensor)
    if not address or not size:
        return 0
    return int(mark(f"vramstow.category {category} 0x{address:x} {size} {name}"))


def annotate_memory(category: str, tensors: Iterable[torch.Tensor], name: str = "") -> int:
    """Says that these tensors are `category`: of how many that was told.

    Categories are those of vramstow analyze: parameters, gradients, optimizer_state, activations,
    temporaries, inputs, workspaces, caches. Counts for the blocks that the tensors have now.
    """
    return sum(_tell_category(category, name, tensor) for tensor in tensors)


def _state_of(optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, torch.Tensor]]:
    for number, state in enumerate(optimizer.state.values()):
        for key, value in state.items():
            yield f"{key}.{number}", value


class Annotated:
    """Keeps what is known of a model's memory up to date; `remove` ends that."""

    def __init__(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
    ) -> None:
        self._model = model
        self._told: dict[str, int] = {}
        self._handles: list[RemovableHandle] = []
        self.again()
        if optimizer is not None:
            self._handles = [
                optimizer.register_step_pre_hook(self._before_step),
                optimizer.register_step_post_hook(self._after_step),
            ]
            self._tell_state(optimizer)

    def _tell_once(self, category: str, name: str, tensor: torch.Tensor) -> None:
        """A block that lives on needs to be told of once."""
        address, _ = _memory_of(tensor)
        if not address:
            return
        key = f"{category} {name}"
        if self._told.get(key) != address and _tell_category(category, name, tensor):
            self._told[key] = address

    def again(self) -> None:
        """Tells of parameters and buffers that moved or came since."""
        for name, parameter in self._model.named_parameters():
            self._tell_once("parameters", name, parameter)
        for name, buffer in self._model.named_buffers():
            self._tell_once("parameters", name, buffer)

    def _before_step(self, _optimizer: object, _args: object, _kwargs: object) -> None:
        # Gradients are often made anew for each step, so these are told of each time.
        for name, parameter in self._model.named_parameters():
            if parameter.grad is not None:
                _tell_category("gradients", name, parameter.grad)

    def _after_step(self, optimizer: torch.optim.Optimizer, _args: object, _kwargs: object) -> None:
        self._tell_state(optimizer)

    def _tell_state(self, optimizer: torch.optim.Optimizer) -> None:
        for name, value in _state_of(optimizer):
            self._tell_once("optimizer_state", name, value)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []


def annotate_parameters(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> Annotated:
    """Makes analyze's categories known rather than guessed: parameters, buffers, gradients, state.

    To be called once the model is on its device. Of the optimizer its state is told of as it comes
    into being, and the gradients before each step.
    """
    return Annotated(model, optimizer)
