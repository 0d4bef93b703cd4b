"""Tells the trace where an optimizer's step ends: that is what divides training into iterations.

PyTorch calls back after each step of any optimizer. Each step becomes a mark, `vramstow.step KIND
NUMBER`, where NUMBER tells one optimizer from another. Compiled steps are not followed, and no
error here reaches the program.
"""

from __future__ import annotations

import ctypes
import weakref


def follow() -> None:
    """Makes PyTorch call back after every step of an optimizer from now on."""
    import torch
    from torch.optim import optimizer as optimizers

    mark = ctypes.CDLL(None).vramstow_mark
    mark.argtypes = [ctypes.c_char_p]
    mark.restype = ctypes.c_int
    is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
    # The key is the identity, because an optimizer that defines __eq__ may have no hash.
    known: dict[int, tuple[weakref.ref, bytes]] = {}
    made = 0

    def keep(optimizer: object) -> bytes:
        nonlocal made
        made += 1
        number = id(optimizer)
        text = f"vramstow.step {type(optimizer).__name__} {made}".encode()
        gone = weakref.ref(optimizer, lambda _: known.pop(number, None))
        known[number] = (gone, text)
        return text

    def after_step(optimizer: object, _: object, __: object) -> None:
        if is_compiling():
            return
        try:
            entry = known.get(id(optimizer))
            mark(entry[1] if entry is not None else keep(optimizer))
        except Exception:
            return

    optimizers.register_optimizer_step_post_hook(after_step)
