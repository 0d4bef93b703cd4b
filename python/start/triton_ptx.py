"""Gives the simulated card Triton's kernels as PTX, which it can run, in place of machine code.

Triton compiles each kernel to PTX and that to machine code, and keeps both. PyTorch's compiler
loads its kernels from files, Triton itself from memory. A kernel without PTX is loaded as it is,
and no error here reaches the program.

Triton's own assembler may be newer than the driver, which never sees that PTX on a card and would
refuse it for its version. So the PTX says that it is of an older version.
"""

from __future__ import annotations

import os
import re
import tempfile
from types import ModuleType
from typing import Protocol

# Modules of PyTorch's compiler, by release, with the class that loads a kernel from a file.
_LAUNCHERS = {
    "torch._inductor.runtime.static_cuda_launcher": "StaticallyLaunchedCudaKernel",
    "torch._inductor.runtime.static_triton_launcher": "StaticallyLaunchedTritonKernel",
}
MODULES = ("triton.compiler.compiler", *_LAUNCHERS)


class _Launched(Protocol):
    """A kernel that PyTorch's compiler loads from a file."""

    cubin_path: str | None

    def load_kernel(self, *arguments: object) -> object: ...


class _Compiled(Protocol):
    """A kernel that Triton has compiled: its texts by kind, and what is loaded of it."""

    asm: dict[str, str | bytes]
    kernel: bytes
    module: object

    def _init_handles(self) -> object: ...


def prepare(module: ModuleType) -> None:
    """Changes one of MODULES, which was imported just now."""
    if module.__name__ in _LAUNCHERS:
        _load_from_file(getattr(module, _LAUNCHERS[module.__name__]))
    else:
        _load_from_memory(module.CompiledKernel)


_VERSION = re.compile(rb"^\.version\s+[0-9.]+", re.MULTILINE)


def _for_any_driver(ptx: bytes) -> bytes:
    return _VERSION.sub(b".version 8.0", ptx, count=1)


def _copy_for_any_driver(path: str) -> str:
    """A file of its own; an OSError says why there is none."""
    with open(path, "rb") as ptx:
        text = _for_any_driver(ptx.read())
    descriptor, copy = tempfile.mkstemp(".ptx", "vramstow-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
    return copy


def _load_from_file(launched: type[_Launched]) -> None:
    load_kernel = launched.load_kernel

    def load(self: _Launched, *arguments: object) -> object:
        path = getattr(self, "cubin_path", None)
        if not isinstance(path, str):
            return load_kernel(self, *arguments)
        try:
            copy = _copy_for_any_driver(os.path.splitext(path)[0] + ".ptx")
        except OSError:
            return load_kernel(self, *arguments)
        self.cubin_path = copy
        try:
            return load_kernel(self, *arguments)
        finally:
            os.remove(copy)
            if self.cubin_path == copy:
                self.cubin_path = path

    launched.load_kernel = load


def _load_from_memory(compiled: type[_Compiled]) -> None:
    init_handles = compiled._init_handles

    def init(self: _Compiled) -> object:
        ptx = getattr(self, "asm", {}).get("ptx")
        machine_code = getattr(self, "kernel", None)
        loaded = getattr(self, "module", None) is not None
        if loaded or machine_code is None or not isinstance(ptx, str):
            return init_handles(self)
        self.kernel = _for_any_driver(ptx.encode()) + b"\0"
        try:
            return init_handles(self)
        finally:
            self.kernel = machine_code

    compiled._init_handles = init
