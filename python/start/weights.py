"""Tells the trace which memory modules and optimizers hold as weights, however it came there.

A loader may copy weights from a file one by one, put tensors in the place of those that a model
was made with, or fill a model that was made without memory; call stacks do not tell that. So
PyTorch calls back where a module gets a parameter or a buffer, and where an optimizer has made its
first step, and what moves a model (`to`, `cuda`, `to_empty`) is followed: `vramstow.weights
0xADDRESS …` tells what lies on a card then. A model that runs costs nothing. `vramstow.save` and `vramstow.save_end` stand around torch.save. No error here
reaches the program.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import weakref
from _thread import _local
from collections.abc import Callable, Iterable, Iterator

_MOST_IN_A_MARK = 50  # a mark may have 1,024 bytes
_MOST_PARTS = 1_000  # of tensors that consist of others


def _parts(tensor: object) -> Iterator[object]:
    """The tensors that have the memory of this one: quantised ones and shards consist of others."""
    waiting = [tensor]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        local = getattr(part, "_local_tensor", None)
        flatten = getattr(type(part), "__tensor_flatten__", None)
        if local is not None:
            waiting.append(local)
        elif flatten is not None:
            waiting += [getattr(part, name) for name in flatten(part)[0]]
        else:
            yield part
            # How bitsandbytes keeps what belongs to a quantised parameter.
            absmax = getattr(getattr(part, "quant_state", None), "absmax", None)
            if absmax is not None:
                waiting.append(absmax)


def _address(tensor: object) -> int:
    """Where the memory of a tensor begins on a card; 0: it has none there."""
    if not getattr(tensor, "is_cuda", False):
        return 0
    try:
        return tensor.untyped_storage().data_ptr()
    except Exception:  # a tensor without memory of its own
        return 0


def _tell(mark: Callable[[bytes], int], tensors: Iterable[object]) -> None:
    addresses = sorted({_address(part) for tensor in tensors for part in _parts(tensor)} - {0})
    for i in range(0, len(addresses), _MOST_IN_A_MARK):
        some = addresses[i : i + _MOST_IN_A_MARK]
        mark(b"vramstow.weights " + b" ".join(b"0x%x" % place for place in some))


def _follow_modules(mark: Callable[[bytes], int], is_compiling: Callable[[], bool]) -> None:
    from torch.nn.modules import module as modules

    def register(_module: object, _name: str, tensor: object) -> None:
        if tensor is None or is_compiling():
            return
        try:
            _tell(mark, [tensor])
        except Exception:
            return

    modules.register_module_parameter_registration_hook(register)
    modules.register_module_buffer_registration_hook(register)


def _follow_moves(mark: Callable[[bytes], int], is_compiling: Callable[[], bool]) -> None:
    from torch.nn import Module

    apply = Module._apply  # what all that moves or converts a module goes through
    running = _local()

    @functools.wraps(apply)
    def moved(module: object, *args: object, **kwargs: object) -> object:
        if is_compiling() or getattr(running, "outer", None) is not None:
            return apply(module, *args, **kwargs)
        running.outer = module
        try:
            result = apply(module, *args, **kwargs)
        finally:
            running.outer = None
        try:
            _tell(mark, itertools.chain(module.parameters(), module.buffers()))
        except Exception:
            return result
        return result

    Module._apply = moved


def _follow_optimizers(mark: Callable[[bytes], int], is_compiling: Callable[[], bool]) -> None:
    from torch.optim import optimizer as optimizers

    known: dict[int, weakref.ref] = {}

    def after_step(optimizer: object, _: object, __: object) -> None:
        if is_compiling() or id(optimizer) in known:
            return
        try:
            number = id(optimizer)
            known[number] = weakref.ref(optimizer, lambda _: known.pop(number, None))
            _tell(mark, (t for group in optimizer.param_groups for t in group["params"]))
        except Exception:
            return

    optimizers.register_optimizer_step_post_hook(after_step)


def _follow_saving(torch: object, mark: Callable[[bytes], int]) -> None:
    save = torch.save

    @functools.wraps(save)
    def marked(*args: object, **kwargs: object) -> object:
        mark(b"vramstow.save")
        try:
            return save(*args, **kwargs)
        finally:
            mark(b"vramstow.save_end")

    torch.save = torch.serialization.save = marked


def follow() -> None:
    """Makes PyTorch call back where modules get tensors, and after steps of optimizers."""
    import torch

    mark = ctypes.CDLL(None).vramstow_mark
    mark.argtypes = [ctypes.c_char_p]
    mark.restype = ctypes.c_int
    is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
    for part in (
        lambda: _follow_modules(mark, is_compiling),
        lambda: _follow_moves(mark, is_compiling),
        lambda: _follow_optimizers(mark, is_compiling),
        lambda: _follow_saving(torch, mark),
    ):
        try:
            part()
        except Exception:  # a PyTorch that does not call back: call stacks tell what they can
            continue
