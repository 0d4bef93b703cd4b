"""Passes Triton's kernels to the simulated card as PTX, which it can run, instead of machine code.

Triton compiles each kernel to PTX, and the PTX to machine code, and stores both. PyTorch's compiler
loads its kernels from files, Triton itself from memory. A kernel without PTX is loaded as it is.
Errors in this file never reach the program.

Triton has its own assembler, which may be newer than the driver. On a real GPU the driver never
sees the PTX. Here it might reject its version. So the version in the PTX is replaced by an older
one.
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
    """The class of PyTorch's compiler for a kernel that is loaded from a file."""

    cubin_path: str | None

    def load_kernel(self, *arguments: object) -> object: ...


class _Compiled(Protocol):
    """Triton's class for a compiled kernel: its code by format, and the loaded module."""

    asm: dict[str, str | bytes]
    kernel: bytes
    module: object

    def _init_handles(self) -> object: ...


def prepare(module: ModuleType) -> None:
    """Changes one of MODULES just after its import."""
    if module.__name__ in _LAUNCHERS:
        _load_from_file(getattr(module, _LAUNCHERS[module.__name__]))
    else:
        _load_from_memory(module.CompiledKernel)


_VERSION = re.compile(rb"^\.version\s+[0-9.]+", re.MULTILINE)


def _for_any_driver(ptx: bytes) -> bytes:
    return _VERSION.sub(b".version 8.0", ptx, count=1)


def _copy_for_any_driver(path: str) -> str:
    """Writes a temporary copy and returns its path. Raises OSError if that is not possible."""
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
