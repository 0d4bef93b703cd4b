"""Reports to the adapter which module of a model runs, for traces with stacks.

A module's name is its path in the model that was called first: Decoder.blocks.0.queries. PyTorch's
global module hooks call back at the start and end of a module. Compiled code is not followed.
Errors in this file never reach the program.

A call of a module outside all other modules counts as a call of a model, and is marked:
`vramstow.forward NAME NUMBER` (`vramstow.inference` if no gradients are recorded), and at its end
`vramstow.forward_end`. NUMBER identifies the model.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections.abc import Callable
from types import CodeType, FrameType


class _Inside(threading.local):
    modules = 0  # the nesting depth of module calls in this thread
    outermost = None  # the name of the outermost of them, as the adapter knows it
    model = 0  # the outermost module's identity


class _Models:
    """Numbers the models and marks their calls in the trace."""

    def __init__(self, records_gradients: Callable[[], bool]) -> None:
        self._records_gradients = records_gradients
        self._mark = ctypes.CDLL(None).vramstow_mark
        self._mark.argtypes = [ctypes.c_char_p]
        self._mark.restype = ctypes.c_int
        self._names: dict[int, bytes] = {}
        self._made = 0

    def add(self, number: int, name: str) -> None:
        self._made += 1
        self._names[number] = f"{name} {self._made}".encode()

    def forget(self, number: int) -> None:
        self._names.pop(number, None)

    def has(self, number: int) -> bool:
        return number in self._names

    def begin(self, number: int) -> None:
        name = self._names.get(number)
        if name is not None:
            kind = b"vramstow.forward " if self._records_gradients() else b"vramstow.inference "
            self._mark(kind + name)

    def end(self, number: int) -> None:
        name = self._names.get(number)
        if name is not None:
            self._mark(b"vramstow.forward_end " + name)


def _is_inside_a_call(call: CodeType, frame: FrameType | None) -> bool:
    """Returns whether the call of a module that `frame` belongs to was made by another one. `call`
    is the code in which PyTorch calls a module."""
    calls = 0
    while frame is not None and calls < 2:
        calls += frame.f_code is call
        frame = frame.f_back
    return calls == 2


def follow(adapter: ctypes.CDLL) -> None:
    """Lets PyTorch call back for every call of a module from now on."""
    from torch import is_grad_enabled
    from torch.compiler import is_compiling
    from torch.nn.modules import module as modules

    name_of = adapter.vramstow_torch_name_module
    name_of.restype = ctypes.c_void_p
    name_of.argtypes = [ctypes.c_char_p]
    enter_module, leave_module = (
        adapter.vramstow_torch_enter_module,
        adapter.vramstow_torch_leave_module,
    )
    enter_module.argtypes = leave_module.argtypes = [ctypes.c_void_p]
    enter_module.restype = leave_module.restype = None
    # The key is the module's identity (`id`), because a module whose class defines __eq__ may have
    # no hash.
    known: dict[int, tuple[weakref.ref, int]] = {}
    models = _Models(is_grad_enabled)
    inside = _Inside()
    call = modules.Module._call_impl.__code__

    def keep(module: object, name: str) -> None:
        number = id(module)
        if number not in known:

            def forget(_: object) -> None:
                known.pop(number, None)
                models.forget(number)

            known[number] = (weakref.ref(module, forget), name_of(name.encode()))

    def name_all(root: object) -> None:
        top = type(root).__name__
        keep(root, top)
        models.add(id(root), top)
        for path, module in root.named_modules():
            if path:
                keep(module, f"{top}.{path}")

    def enter(module: object, _: object) -> None:
        if is_compiling():
            return
        number = id(module)
        try:
            # PyTorch does not call `leave` after a KeyboardInterrupt. Parts of a known model need
            # no look at the stack: the call of their model did that.
            may_be_first = inside.modules and (models.has(number) or number not in known)
            if may_be_first and not _is_inside_a_call(call, sys._getframe(1)):
                leave_module(inside.outermost)
                models.end(inside.model)
                inside.modules = 0
            inside.modules += 1
            if number not in known:
                name_all(module)
            name = known[number][1]
            enter_module(name)
            if inside.modules == 1:
                inside.outermost, inside.model = name, number
                models.begin(number)
        except Exception:
            return

    def leave(module: object, _: object, __: object) -> None:
        if is_compiling():
            return
        inside.modules = max(inside.modules - 1, 0)
        entry = known.get(id(module))
        if entry is not None:
            leave_module(entry[1])
            if inside.modules == 0:
                models.end(id(module))

    modules.register_module_forward_pre_hook(enter)
    modules.register_module_forward_hook(leave, always_call=True)
