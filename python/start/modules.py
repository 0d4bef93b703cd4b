"""Tells the adapter which module of a model runs, for traces that keep stacks.

A module's name is its place in the model that was called first: Decoder.blocks.0.queries. PyTorch's
global module hooks call back when a module begins and ends. Compiled code is not followed, and no
error here reaches the program.
"""

from __future__ import annotations

import ctypes
import weakref


def follow(adapter: ctypes.CDLL) -> None:
    """Makes PyTorch call back for every call of a module from now on."""
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
    # The key is the identity, because a module that defines __eq__ may have no hash.
    known: dict[int, tuple[weakref.ref, int]] = {}

    def keep(module: object, name: str) -> None:
        number = id(module)
        if number not in known:
            gone = weakref.ref(module, lambda _: known.pop(number, None))
            known[number] = (gone, name_of(name.encode()))

    def name_all(root: object) -> None:
        top = type(root).__name__
        keep(root, top)
        for path, module in root.named_modules():
            if path:
                keep(module, f"{top}.{path}")

    def enter(module: object, _: object) -> None:
        if is_compiling():
            return
        try:
            if id(module) not in known:
                name_all(module)
            enter_module(known[id(module)][1])
        except Exception:
            return

    def leave(module: object, _: object, __: object) -> None:
        if is_compiling():
            return
        entry = known.get(id(module))
        if entry is not None:
            leave_module(entry[1])

    modules.register_module_forward_pre_hook(enter)
    modules.register_module_forward_hook(leave, always_call=True)
