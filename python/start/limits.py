"""Tells the trace which line of the program limits what PyTorch may take of the card.

PyTorch refuses what is over the limit, and its error does not say who set it. Each limit becomes a
mark, `vramstow.fact device.N.limited_at FILE:LINE FUNCTION`. No error here reaches the program.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
_SETTING = "per_process_memory_fraction"


def follow(torch: object) -> None:
    """Has each call that sets a limit told from now on, and the limit that the settings have."""
    mark = ctypes.CDLL(None).vramstow_mark
    mark.argtypes = [ctypes.c_char_p]
    mark.restype = ctypes.c_int
    set_fraction = torch._C._cuda_setMemoryFraction

    @functools.wraps(set_fraction)
    def set_and_tell(fraction: float, device: int) -> object:
        result = set_fraction(fraction, device)
        try:
            mark(f"vramstow.fact device.{device}.limited_at {_line_of_program()}".encode())
        except Exception:
            return result
        return result

    torch._C._cuda_setMemoryFraction = set_and_tell
    variable = next((name for name in _VARIABLES if _SETTING in os.environ.get(name, "")), None)
    if variable is not None:
        torch.cuda._lazy_call(lambda: _tell_of_all(torch, mark, f"{_SETTING} in {variable}"))


def _tell_of_all(torch: object, mark: object, place: str) -> None:
    for device in range(torch.cuda.device_count()):
        mark(f"vramstow.fact device.{device}.limited_at {place}".encode())


def _line_of_program() -> str:
    """The innermost line outside of PyTorch, as the analysis names lines."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_pytorchs(frame.f_code.co_filename):
        frame = frame.f_back
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # of Python 3.11 and later
    return f"{os.path.basename(code.co_filename)}:{frame.f_lineno} {name}"


def _is_pytorchs(file: str) -> bool:
    return f"{os.sep}torch{os.sep}" in file or file.startswith("<frozen")
