"""Records which source line of the program limits the memory that PyTorch may use on a GPU.

PyTorch refuses requests above the limit, but its error does not show who set the limit. Each limit
becomes three marks in the trace: `vramstow.fact device.N.limited_at FILE:LINE FUNCTION`,
`vramstow.fact device.N.limited_by FUNCTION`, and
`vramstow.fact device.N.limited_fraction FRACTION`. Errors in this file never reach the program.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
_SETTING = "per_process_memory_fraction"
_FUNCTION = "torch.cuda.set_per_process_memory_fraction()"


def follow(torch: object) -> None:
    """Records the limit of PyTorch's settings now, and every later call that sets a limit."""
    mark = ctypes.CDLL(None).vramstow_mark
    mark.argtypes = [ctypes.c_char_p]
    mark.restype = ctypes.c_int
    set_fraction = torch._C._cuda_setMemoryFraction

    @functools.wraps(set_fraction)
    def set_and_tell(fraction: float, device: int) -> object:
        result = set_fraction(fraction, device)
        try:
            mark(f"vramstow.fact device.{device}.limited_fraction {float(fraction)}".encode())
            mark(f"vramstow.fact device.{device}.limited_by {_FUNCTION}".encode())
            mark(f"vramstow.fact device.{device}.limited_at {_line_of_program()}".encode())
        except Exception:
            return result
        return result

    torch._C._cuda_setMemoryFraction = set_and_tell
    variable = next((name for name in _VARIABLES if _SETTING in os.environ.get(name, "")), None)
    if variable is not None:
        torch.cuda._lazy_call(lambda: _tell_of_all(torch, mark, variable))


def _tell_of_all(torch: object, mark: object, variable: str) -> None:
    place = f"{_SETTING} in {variable}"
    fraction = os.environ.get(variable, "").partition(f"{_SETTING}:")[2].partition(",")[0]
    for device in range(torch.cuda.device_count()):
        mark(f"vramstow.fact device.{device}.limited_fraction {fraction}".encode())
        mark(f"vramstow.fact device.{device}.limited_by {_SETTING}".encode())
        mark(f"vramstow.fact device.{device}.limited_at {place}".encode())


def _line_of_program() -> str:
    """Returns the innermost source line outside of PyTorch, in the format of the analysis."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_pytorchs(frame.f_code.co_filename):
        frame = frame.f_back
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)  # exists since Python 3.11
    return f"{os.path.basename(code.co_filename)}:{frame.f_lineno} {name}"


def _is_pytorchs(file: str) -> bool:
    return f"{os.sep}torch{os.sep}" in file or file.startswith("<frozen")
