"""Observes PyTorch's allocator from within a program: vramstow.observe() and vramstow.explain().

For programs that cannot be started with `vramstow run` (notebooks, workers of a service). Nothing
is preloaded and no function of CUDA is hooked: what PyTorch holds already is taken from its own
snapshot, events follow from then on. PyTorch and CUDA are started if they are not yet.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, TracebackType

from vramstow import library, program

_PATIENCE = 300  # seconds, for a long trace on a busy machine
_trace = ""  # of the observation that observe() began


class ObserveError(RuntimeError):
    """Says in one sentence why the program cannot be observed."""


class Observation:
    """An observation of this process, until end() or the end of a `with` block.

    `path` is the trace's file. It is empty where `vramstow run` observes the process already: then
    nothing is begun here, and end() does nothing.
    """

    def __init__(self, path: str, core: ModuleType | None) -> None:
        self.path = path
        self._core = core

    def end(self) -> None:
        """Ends the observation and closes the trace. It may be called again."""
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
    """The files of the installation that the program `vramstow` belongs to."""

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
        """A module of the start-up folder, which is not on Python's path."""
        full = f"_vramstow_{name}_code"
        if full in sys.modules:
            return sys.modules[full]
        file = self.folder / "vramstow/python" / f"{name}.py"
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
    """The observer and the census for this PyTorch; no census: an empty name."""
    wanted = {"observer": ("--observer",), "census": ("--census",)}
    built = installed.module("builds").run(str(installed.program), folder, wanted)
    if built["observer"].status != 0:
        raise ObserveError(f"{built['observer'].why}.")
    return built["observer"].file, built["census"].file if built["census"].status == 0 else ""


def _file_and_folder(trace: str | os.PathLike[str] | None) -> tuple[Path | None, Path]:
    """The file that the trace shall have (None: vramstow names it), and the folder."""
    if trace is None:
        return None, Path.cwd()
    path = Path(trace).absolute()
    if path.suffix != ".stow":
        return None, path
    if path.exists():
        raise ObserveError(f"{path} is there already: name another file, or remove it.")
    return path, path.parent


def observe(trace: str | os.PathLike[str] | None = None) -> Observation:
    """Observes PyTorch's allocator from now on, and writes a trace.

    `trace`: a file that ends in .stow, or a folder; None: the current folder, and vramstow names
    the file. Raises ObserveError where it cannot be done: no GPU, no PyTorch, no compiler where the
    observer has to be compiled, an observation that was begun already.
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
            os.rename(path, file)
            path = observed.path = str(file)
    except (core.ObservationError, OSError) as error:
        raise ObserveError(f"{error}.") from None
    library.use(observed.library, shim)
    global _trace
    _trace = path
    return Observation(path, core)


def explain() -> str:
    """Tells why memory ran out, or where it is: because, at, held by, do, then.

    For a process that vramstow observes, by observe() or by `vramstow run`. Raises ObserveError
    where there is no trace.
    """
    trace = _trace or library.dump()
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
        raise ObserveError(f"the trace {trace} was not explained ({error}).") from None
    if told.returncode != 0:
        raise ObserveError(told.stderr.strip())
    return told.stdout
