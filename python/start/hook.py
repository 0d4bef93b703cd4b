"""Connects PyTorch with vramstow when torch is imported; sitecustomize.py runs this file.

In a simulated run, the results of PyTorch's operators are computed, unless the simulated card has
the option values=off.

With the pool, the pool becomes PyTorch's allocator. Without the pool, an observer records what
PyTorch's own allocator does. The observer is compiled when torch is imported, and begins when
PyTorch initialises CUDA.

This file imports and changes nothing before the program imports torch.
"""

import atexit
import os
import sys
from _thread import get_ident

# include/vramstow/framework.h explains these names.
# The values are pairs of lines: torch's folder, and the library for it: the adapter, the observer,
# the census, and the library that computes values. Child processes inherit the variables and need
# not search again.
_FINISHED = "VRAMSTOW_TORCH_ADAPTER"
_FINISHED_OBSERVER = "VRAMSTOW_TORCH_OBSERVER"
_FINISHED_CENSUS = "VRAMSTOW_TORCH_CENSUS"
_FINISHED_VALUES = "VRAMSTOW_TORCH_VALUES"
_NONE = "none"  # stands for a file that does not exist for this release
_PROGRAM = "VRAMSTOW_PROGRAM"
_HOOKED = "VRAMSTOW_HOOKED"  # set by this file; the library removes it for child programs
_INSTALL = "vramstow_torch_install"
_OBSERVE = "vramstow_torch_observe"
_CENSUS = "vramstow_census_start"
_COLLECTION = "vramstow_collection_start"
_CENSUS_STOP = "vramstow_census_stop"
_VALUES = "vramstow_values_install"
_POOLED = os.environ.get("VRAMSTOW_POOL") == "on"
# With offloading it must be known which memory operators use.
_OFFLOADED = os.environ.get("VRAMSTOW_OFFLOAD", "off") not in ("", "off")
# Options of a simulated GPU with which no values are computed; sizes that depend on values are then
# 0.
_WITHOUT_VALUES = {"values=off", "emulation=off", "effects=off"}
_NO = {"0", "no", "off", "false"}  # the same words as in base/options.cc
_AUTO = "auto"

_NONE_FOR_RELEASE = 3  # an exit status of vramstow adapter


class _AlreadySaid(OSError):
    """An error that the library has already reported to the user."""


class _NotToBeHadError(OSError):
    """An error that is not reported: the part does not exist for this PyTorch, and was not asked
    for.
    """


def _say(what: str, error: Exception) -> None:
    """Prints which part does not work, and why."""
    if isinstance(error, _AlreadySaid):
        return
    why = str(error) or type(error).__name__
    print(f"vramstow: {what}: {why}.", file=sys.stderr, flush=True)


def _say_no_tensors(error: Exception) -> None:
    whose = "the pool serves" if _POOLED else "the trace has"
    _say(f"{whose} PyTorch's segments, not its tensors", error)


# The errors of the libraries that could not be compiled, by the environment variable that would
# contain the library's path. None of them was raised (_anew says why).
_troubles: "dict[str, Exception]" = {}


def _anew(error: Exception) -> Exception:
    """Returns an error that says the same and was not raised.

    A stored error that was raised would hold the frames of all callers, and so the program's
    objects: a function that imports PyTorch would never free its model.
    """
    if isinstance(error, (_AlreadySaid, _NotToBeHadError)):
        return type(error)()
    return OSError(str(error) or type(error).__name__)


def _known(folder: str, finished: str) -> str:
    """Returns the path of the compiled library; empty if it is not compiled yet."""
    lines = os.environ.get(finished, "").split("\n")
    for i in range(0, len(lines) - 1, 2):
        if lines[i] == folder and os.path.exists(lines[i + 1]):
            return lines[i + 1]
        if lines[i] == folder and lines[i + 1] == _NONE:
            raise _NotToBeHadError
    return ""


def _compile(folder: str, wanted: "dict[str, tuple[str, ...]]") -> None:
    """Compiles the missing libraries, all in parallel."""
    missing = {}
    for finished, options in wanted.items():
        try:
            if not _known(folder, finished):
                missing[finished] = options
        except _NotToBeHadError as error:
            _troubles[finished] = _anew(error)
    if not missing:
        return
    program = os.environ.get(_PROGRAM, "vramstow")
    try:
        outcomes = _beside("builds").run(program, folder, missing)
    except Exception as error:  # no error here may end the job
        _troubles.update(dict.fromkeys(missing, _anew(error)))
        return
    for finished, outcome in outcomes.items():
        if outcome.status == 0:
            os.environ[finished] = f"{folder}\n{outcome.file}"
        elif outcome.status == _NONE_FOR_RELEASE:
            os.environ[finished] = f"{folder}\n{_NONE}"
            _troubles[finished] = _NotToBeHadError()
        else:
            _troubles[finished] = OSError(outcome.why)


def _library_for(folder: str, finished: str) -> str:
    """Returns the path of the compiled library. Raises OSError with the reason if there is none."""
    if finished in _troubles:
        raise _anew(_troubles[finished])
    lines = os.environ.get(finished, "").split("\n")
    return next(lines[i + 1] for i in range(0, len(lines) - 1, 2) if lines[i] == folder)


def _beside(name: str) -> object:
    """Imports a module of this file's folder, which is not on Python's path."""
    from importlib import util

    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = util.spec_from_file_location(f"vramstow_{name}", file)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _follow_modules(adapter: object) -> None:
    """Follows the calls of modules if the user wants each tensor's module in the trace."""
    if os.environ.get("VRAMSTOW_STACKS") not in ("sites", "all"):
        return
    try:
        _beside("modules").follow(adapter)
    except Exception as error:
        _say("the trace contains no modules", error)


def _follow_steps() -> None:
    """Records the end of each optimizer step in the trace."""
    try:
        _beside("steps").follow()
    except Exception:  # this PyTorch has no callback; iterations are found in other ways
        return


def _follow_states() -> None:
    """Lets the offloader evict an optimizer's state between two steps."""
    try:
        _beside("states").follow()
    except Exception:  # this PyTorch has no callback; the state is evicted like other memory
        return


def _follow_limits(torch: object) -> None:
    """Records the source line that limits the memory which PyTorch may use on a GPU."""
    try:
        _beside("limits").follow(torch)
    except Exception:  # this PyTorch has other functions; the source line remains unknown
        return


def _tell_unread_lines(torch: object) -> None:
    """Records that source lines of this Python cannot be read (tracer/capture/python_runtime.h)."""
    without_lock = "t" in getattr(sys, "abiflags", "")
    if (3, 10) <= sys.version_info[:2] <= (3, 14) and not without_lock:
        return
    import ctypes

    release = f"{sys.version_info[0]}.{sys.version_info[1]}{'t' if without_lock else ''}"
    try:
        mark = ctypes.CDLL(None).vramstow_mark
        mark.argtypes = [ctypes.c_char_p]
        torch.cuda._lazy_call(lambda: mark(f"vramstow.fact python.no_lines {release}".encode()))
    except Exception:  # this PyTorch has other functions
        return


def _follow_weights() -> None:
    """Records the weights of modules, and the calls of torch.save."""
    try:
        _beside("weights").follow()
    except Exception:  # this PyTorch has no callback; only call stacks identify weights
        return


def _folder_of(torch: object) -> str:
    """Returns PyTorch's folder; empty if this PyTorch has no CUDA."""
    folder = os.path.dirname(os.path.realpath(torch.__file__))
    return folder if os.path.exists(os.path.join(folder, "lib", "libc10_cuda.so")) else ""


def _load(file: str, entry: str, *numbers: int) -> object:
    """Loads a compiled library and calls its function. Raises OSError with the reason if that
    fails.
    """
    import ctypes

    library = ctypes.CDLL(file)
    start = getattr(library, entry)
    start.restype = ctypes.c_char_p
    why = start(*numbers)
    if why is not None:
        raise OSError(why.decode()) if why else _AlreadySaid
    return library


def _install(folder: str) -> bool:
    try:
        _follow_modules(_load(_library_for(folder, _FINISHED), _INSTALL))
        return True
    except Exception as error:  # no error here may end the job
        # The library must not try again and print the error twice.
        os.environ[_FINISHED] = f"{folder}\n"
        _say_no_tensors(error)
        return False


class _Prepared:
    """A library that is compiled now, if necessary, and loaded when CUDA starts.

    Only load() reports an error of the compilation, because it does not matter to a program that
    never uses CUDA.
    """

    def __init__(self, folder: str, finished: str) -> None:
        self._file = ""
        self._trouble: Exception | None = None
        try:
            self._file = _library_for(folder, finished)
        except Exception as error:
            self._trouble = _anew(error)

    def is_ready(self) -> bool:
        return self._trouble is None

    def load(self, entry: str) -> object:
        if self._trouble is not None:
            raise _anew(self._trouble)
        return _load(self._file, entry)


def _when_cuda_starts(torch: object, call: object) -> None:
    """Calls back when PyTorch has initialised CUDA. Only then it has allocators to observe."""
    try:
        torch.cuda._lazy_call(call)
    except Exception as error:
        _say_no_tensors(OSError(f"PyTorch does not call back when it starts CUDA ({error})"))


def _observe_when_cuda_starts(folder: str, torch: object, census: object) -> None:
    observer = _Prepared(folder, _FINISHED_OBSERVER)

    def observe() -> None:
        try:
            observer.load(_OBSERVE)
        except Exception as error:
            _say_no_tensors(error)
            return
        if census is not None:
            census.start()

    _when_cuda_starts(torch, observe)


def _is_asked_for(option: str) -> bool:
    return os.environ.get(option, _AUTO).lower() != _AUTO


class _Census:
    """The census (a reference scan): finds the owners of tensors, and collects garbage before an
    out-of-memory error.
    """

    def __init__(self, folder: str) -> None:
        # For each part of the observer: the name of its entry function, the consequence for the
        # user if it fails, and whether the user asked for this part.
        self._parts: list[tuple[str, str, bool]] = []
        if _wants_census():
            what = (
                "the analysis of an out-of-memory error will not show which objects hold the memory"
            )
            self._parts.append((_CENSUS, what, _is_asked_for("VRAMSTOW_CENSUS")))
        if _wants_collection():
            what = "garbage will not be collected before an out-of-memory error"
            self._parts.append((_COLLECTION, what, _is_asked_for("VRAMSTOW_COLLECT")))
        self._file = ""
        self._trouble: Exception | None = None
        self._library: object = None
        try:
            self._file = _library_for(folder, _FINISHED_CENSUS)
        except Exception as error:
            self._trouble = _anew(error)

    def start(self) -> None:
        if self._library is not None:
            return
        if self._trouble is not None:
            if not isinstance(self._trouble, _NotToBeHadError):
                _say(self._parts[0][1], self._trouble)
            return
        for entry, what, is_asked_for in self._parts:
            try:
                self._library = _load(self._file, entry)
            except Exception as error:
                # The census (a reference scan) may not support this Python. This is reported only
                # to a user who asked for a census.
                if is_asked_for:
                    _say(what, error)

    def stop(self) -> None:
        if self._library is not None:
            getattr(self._library, _CENSUS_STOP)()


_end_is_told = False
_census: "_Census | None" = None  # quoted because Python 3.9 cannot evaluate this type


def _card_options() -> list[str]:
    spec = os.environ.get("VRAMSTOW_SIMULATE") or os.environ.get("VRAMSTOW_SIMULATED_CARD", "")
    return spec.split(",")


def _says_what_a_card_would_do() -> bool:
    """True if the simulated run has to see each operator, even if it computes none."""
    return any(
        option == "clock=model" or option.startswith("work-log=") for option in _card_options()
    )


def _wants_operators() -> bool:
    options = _card_options()
    is_kept = "contents=discard" not in options  # otherwise all memory reads as zeros
    return options[0] != "" and (is_kept or _says_what_a_card_would_do())


def _compute_values(folder: str) -> None:
    """Makes the simulated card compute the results of PyTorch's operators."""
    wants_all = _OFFLOADED or _says_what_a_card_would_do()
    only_sizes = not _WITHOUT_VALUES.isdisjoint(_card_options()) and not wants_all
    try:
        _load(_library_for(folder, _FINISHED_VALUES), _VALUES, int(only_sizes))
    except Exception as error:
        if only_sizes:
            return  # this run needs no values
        _say("the simulated run does not compute PyTorch's operators", error)


def _prepare_at_import(file: str, otherwise: str) -> None:
    """Applies the changes of the module `file` in this folder to each of its MODULES at import."""
    try:
        changes = _beside(file)
    except Exception:  # the summary lists what was not computed
        return

    def prepare(module: object) -> None:
        try:
            changes.prepare(module)
        except Exception as error:  # this release has other functions
            _say(otherwise, error)

    for name in changes.MODULES:
        sys.meta_path.insert(0, _Finder(name, prepare))


def _run_triton_as_ptx() -> None:
    """Makes the simulated card compute the results of Triton's kernels, except in benchmarks."""
    _prepare_at_import("triton_ptx", "the simulated run does not compute Triton's kernels")
    _prepare_at_import("trials", "the simulated run also computes launches that only measure time")


def _go_on_without_other_ranks() -> None:
    """Lets process groups work without waiting if only some ranks of the job run."""
    if any(option.startswith("world=") for option in _card_options()):
        _prepare_at_import(
            "absent_ranks", "the process waits for the other ranks, which do not run"
        )


def _show_card_to_jax() -> None:
    if _card_options()[0] != "":
        _prepare_at_import("jax_card", "JAX may not find the simulated GPU")


def _wants_trace() -> bool:
    return os.environ.get("VRAMSTOW_TRACE", "1").lower() not in _NO


def _wants_tensors() -> bool:
    if os.environ.get("VRAMSTOW_LEVEL") == "segments":
        return False
    # Metrics need the observer's numbers about tensors even if there is no trace.
    return _POOLED or _wants_trace() or os.environ.get("VRAMSTOW_METRICS", "") != ""


def _wants_census() -> bool:
    return _wants_trace() and os.environ.get("VRAMSTOW_CENSUS", _AUTO).lower() not in _NO


def _wants_collection() -> bool:
    asked = os.environ.get("VRAMSTOW_COLLECT", _AUTO).lower()
    if _POOLED:
        return asked not in _NO
    return asked == "on" and _lock_is_released


_RELEASES_LOCK = "release_lock_on_cudamalloc"
_lock_is_released = False


def _release_lock(folder: str) -> None:
    """Makes PyTorch's allocator release its lock while it waits in cudaMalloc.

    Called before torch is loaded, and only needed without the pool. Garbage is collected while
    cudaMalloc fails. The memory that this frees goes into the allocator's cache, and the allocator
    empties its cache before it tries again.
    """
    if _POOLED or os.environ.get("VRAMSTOW_COLLECT", "").lower() != "on" or not _wants_trace():
        return
    global _lock_is_released
    try:
        with open(os.path.join(folder, "lib", "libc10_cuda.so"), "rb") as library:
            is_known = _RELEASES_LOCK.encode() in library.read()
    except OSError:
        return
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    name = next((one for one in names if os.environ.get(one)), names[1])
    settings = os.environ.get(name, "")
    if not is_known or "cudaMallocAsync" in settings or f"{_RELEASES_LOCK}:False" in settings:
        _say("garbage will not be collected", OSError("PyTorch holds its allocator's lock"))
        return
    if _RELEASES_LOCK not in settings:
        os.environ[name] = f"{settings},{_RELEASES_LOCK}:True".lstrip(",")
    _lock_is_released = True


def _wanted() -> "dict[str, tuple[str, ...]]":
    """Returns the parts that have to be compiled for this run, with the options for each."""
    wanted: dict[str, tuple[str, ...]] = {}
    if _wants_operators():
        wanted[_FINISHED_VALUES] = ("--values",)
    if not _wants_tensors():
        return wanted
    if _POOLED:
        wanted[_FINISHED] = ()
    else:
        wanted[_FINISHED_OBSERVER] = ("--observer",)
    if _wants_census() or _wants_collection():
        wanted[_FINISHED_CENSUS] = ("--census",)
    return wanted


def _prepare(torch: object) -> None:
    folder = _folder_of(torch)
    if not folder:
        return
    atexit.register(_tell_what_ended_it)
    _beside("at_exit").watch_threads()
    _compile(folder, _wanted())
    if _wants_operators():
        _compute_values(folder)
        if _WITHOUT_VALUES.isdisjoint(_card_options()):
            _run_triton_as_ptx()
    if not _wants_tensors():
        return
    global _census
    _census = _Census(folder) if _wants_census() or _wants_collection() else None
    _follow_steps()
    _follow_states()
    _follow_limits(torch)
    _tell_unread_lines(torch)
    _follow_weights()
    if not _POOLED:
        _observe_when_cuda_starts(folder, torch, _census)
    elif _install(folder) and _census is not None:
        _when_cuda_starts(torch, _census.start)


class _Finder:
    """Finds a module as Python would without this finder, and adds a step after its import.

    Some programs (transformers) ask where torch is without importing it. So this finder is removed
    only when the module is imported.
    """

    def __init__(self, name: str, step: object, before: object = None) -> None:
        self._name = name
        self._step = step
        self._before = before  # called with the module's folder before the module is loaded
        # The threads that are executing find_spec now. Another finder may call this finder again.
        # Then this finder must not search.
        self._asking: set[int] = set()

    def _find(self, name: str, path: object, target: object) -> object:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                return spec
        return None

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        thread = get_ident()
        if name != self._name or thread in self._asking:
            return None
        self._asking.add(thread)
        try:
            spec = self._find(name, path, target)
        finally:
            self._asking.discard(thread)
        if spec is None:
            return None
        loader = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is not None:

            def exec_module(module: object) -> None:
                if self._before is not None:
                    self._before(os.path.dirname(spec.origin or ""))
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self._step(module)

            try:
                loader.exec_module = exec_module
            except AttributeError:
                if name == "torch":
                    _say_no_tensors(OSError("torch is loaded in an unusual way"))
        return spec


def _tell_what_ended_it() -> None:
    """Runs when Python ends; only the first call counts. IPython forgets its cells when it ends, so
    this is also registered after IPython, when a cell imports PyTorch.
    """
    global _end_is_told
    if _end_is_told:
        return
    _end_is_told = True
    import contextlib

    # No error here may change how the job ends. An exception of the program may not be printable.
    with contextlib.suppress(Exception):
        _beside("at_exit").tell_what_ended_it()


def _end() -> None:
    """Runs among the last steps before Python is finalised."""
    if "torch" not in sys.modules:
        return
    if _census is not None:
        _census.stop()
    _tell_what_ended_it()
    import contextlib

    with contextlib.suppress(Exception):
        _beside("at_exit").wait_for_rest()


os.environ[_HOOKED] = "1"
if _wants_operators() or _wants_tensors():
    sys.meta_path.insert(0, _Finder("torch", _prepare, _release_lock))
_go_on_without_other_ranks()
_show_card_to_jax()
atexit.register(_end)  # registered first, so that it is called last
