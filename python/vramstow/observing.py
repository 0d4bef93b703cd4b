"""Observes PyTorch's allocator from within a program: vramstow.observe() and vramstow.explain().

This is for programs that cannot be started with `vramstow run` (notebooks, workers of a service).
The library is not preloaded, so no CUDA function is hooked. PyTorch's own snapshot lists the blocks
that exist already. Events are recorded from then on. PyTorch and CUDA are initialised if necessary.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from vramstow import library, program

_PATIENCE = 300  # seconds, for a long trace on a busy machine
_trace = ""  # the trace of the observation that observe() began


class ObserveError(RuntimeError):
    """The program cannot be observed. The text is a sentence with the reason."""


class Observation:
    """An observation of this process. It lasts until end() or the end of a `with` block.

    `path` is the trace's file. It is empty if `vramstow run` observes the process already. Then the
    constructor and end() do nothing.
    """

    def __init__(self, path: str, core: ModuleType | None) -> None:
        self.path = path
        self._core = core

    def end(self) -> None:
        """Ends the observation and closes the trace. It can be called again."""
        core, self._core = self._core, None
        if core is None:
            return
        current = core.current()
        if current is not None and current.path:
            current.end()
        library.use(None, "")
        global _trace
        _trace = ""

    def __enter__(self) -> Observation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()


class _Installed:
    """The files of the installation to which the program `vramstow` belongs."""

    def __init__(self) -> None:
        try:
            self.program = Path(program.path()).resolve()
        except FileNotFoundError as error:
            raise ObserveError(f"{error}.") from None
        for name in ("lib", "lib64"):
            self.folder = self.program.parent.parent / name
            if (self.folder / "libvramstow.so").exists():
                return
        raise ObserveError(f"the installation of {self.program} lacks libvramstow.so.")

    def module(self, name: str) -> ModuleType:
        """Imports a module of the start-up folder, which is not on Python's path."""
        full = f"_vramstow_{name}_code"
        if full in sys.modules:
            return sys.modules[full]
        file = self.folder / "vramstow/python/vramstow_start" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(full, file)
        if spec is None or spec.loader is None:
            raise ObserveError(f"the installation of {self.program} lacks {file.name}.")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[full] = module
        return module


def _torch_folder() -> str:
    try:
        import torch
    except ImportError:
        raise ObserveError("this Python has no PyTorch.") from None
    folder = os.path.dirname(os.path.realpath(torch.__file__))
    if not os.path.exists(os.path.join(folder, "lib", "libc10_cuda.so")):
        raise ObserveError("this PyTorch is built without CUDA.")
    try:
        torch.cuda.init()
    except Exception as error:
        raise ObserveError(f"PyTorch cannot use a GPU here: {error}") from None
    return folder


def _compiled(installed: _Installed, folder: str) -> tuple[str, str]:
    """Compiles the observer and the census for this PyTorch; an empty path means no census."""
    wanted = {"observer": ("--observer",), "census": ("--census",)}
    built = installed.module("builds").run(str(installed.program), folder, wanted)
    if built["observer"].status != 0:
        raise ObserveError(f"{built['observer'].why}.")
    return built["observer"].file, built["census"].file if built["census"].status == 0 else ""


def _file_and_folder(trace: str | os.PathLike[str] | None) -> tuple[Path | None, Path]:
    """Returns the trace's file (None if vramstow chooses its name) and its folder."""
    if trace is None:
        return None, Path.cwd()
    path = Path(trace).absolute()
    if path.suffix != ".stow":
        return None, path
    if os.path.lexists(path):
        raise ObserveError(f"{path} exists already: name another file, or remove it.")
    return path, path.parent


def _rename(observed: Any, file: Path) -> str:  # noqa: ANN401
    """Gives the trace the name that was asked for. If that fails, nothing is observed."""
    try:
        os.rename(observed.path, file)
    except OSError:
        left = observed.path
        observed.end()
        Path(left).unlink(missing_ok=True)
        raise
    observed.path = str(file)
    return observed.path


def observe(trace: str | os.PathLike[str] | None = None) -> Observation:
    """Begins to observe PyTorch's allocator, and writes a trace.

    `trace` is a file that ends in .stow, or a folder, in which vramstow chooses the name; None
    means the current folder. Raises ObserveError if this is not possible: without GPU or PyTorch,
    without a compiler if the observer has to be compiled, or if an observation has begun already.
    """
    if library.is_preloaded():
        return Observation("", None)
    file, folder = _file_and_folder(trace)
    installed = _Installed()
    core = installed.module("observation")
    torch_folder = _torch_folder()
    observer, census = _compiled(installed, torch_folder)
    shim = str(installed.folder / "libvramstow.so")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        observed = core.prepare(core.Files(shim, observer, census))
        path = observed.begin(str(folder))
        if file is not None:
            path = _rename(observed, file)
    except (core.ObservationError, OSError) as error:
        raise ObserveError(f"{error}.") from None
    library.use(observed.library, shim)
    global _trace
    _trace = path
    return Observation(path, core)


def explain() -> str:
    """Explains why memory ran out, or where it is now: because, at, held by, do, then.

    The process must be observed, by observe() or by `vramstow run`. Raises ObserveError if there is
    no trace.
    """
    copy = None if _trace else library.dump()
    trace = _trace or copy
    if trace is None and library.is_preloaded():
        raise ObserveError(f"there is no trace to explain: {library.why_no_trace()}.")
    if trace is None:
        raise ObserveError(
            "there is no trace to explain: call vramstow.observe() first, or start the program "
            "with vramstow run."
        )
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH")
    }
    try:
        told = subprocess.run(
            [program.path(), "analyze", trace],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ObserveError(f"the trace {trace} could not be explained ({error}).") from None
    finally:
        if copy is not None:
            Path(copy).unlink(missing_ok=True)
    if told.returncode != 0:
        raise ObserveError(told.stderr.strip())
    return told.stdout if copy is None else library.name_whole(told.stdout, copy)
