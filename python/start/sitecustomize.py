"""vramstow's start-up hook: connects PyTorch with vramstow when torch is imported.

In a rehearsal what its operators give is computed, unless the simulated card has values=off.

With the pool, the pool becomes PyTorch's allocator. Without it, an observer records what PyTorch's
own allocator does; it is compiled when torch is imported, and begins when PyTorch starts CUDA.

`vramstow run` puts this folder first on PYTHONPATH. The hook imports and changes nothing before the
program imports torch. A sitecustomize of the user's own runs as it would without this one.
"""

import atexit
import os
import sys
from _thread import get_ident

# include/vramstow/framework.h explains these names.
# The values are pairs of lines: torch's folder, and the adapter for it. Child processes inherit
# them and need not search again.
_FINISHED = "VRAMSTOW_TORCH_ADAPTER"
_FINISHED_OBSERVER = "VRAMSTOW_TORCH_OBSERVER"  # the same of observers
_FINISHED_CENSUS = "VRAMSTOW_TORCH_CENSUS"  # the same of what tells who holds memory
_FINISHED_VALUES = "VRAMSTOW_TORCH_VALUES"  # the same, for what computes values
_NONE = "none"  # in place of a file: there is none for this release
_PROGRAM = "VRAMSTOW_PROGRAM"
_HOOKED = "VRAMSTOW_HOOKED"  # what this file sets; the library takes it away from other programs
_INSTALL = "vramstow_torch_install"
_OBSERVE = "vramstow_torch_observe"
_CENSUS = "vramstow_census_start"
_COLLECTION = "vramstow_collection_start"
_CENSUS_STOP = "vramstow_census_stop"
_VALUES = "vramstow_values_install"
_POOLED = os.environ.get("VRAMSTOW_POOL") == "on"
_OFFLOADED = os.environ.get("VRAMSTOW_OFFLOAD", "off") not in ("", "off")  # wants to know of uses
# Options of a simulated GPU that disable all computed values, except that sizes are 0.
_WITHOUT_VALUES = {"values=off", "emulation=off", "effects=off"}
_NO = {"0", "no", "off", "false"}  # as base/options.cc reads switches
_AUTO = "auto"

_NONE_FOR_RELEASE = 3  # as vramstow adapter ends


class _AlreadySaid(OSError):
    """The library has told the user why it does not work."""


class _NotToBeHadError(OSError):
    """There is none of this kind for this PyTorch, and nobody asked for it."""


def _say(what: str, error: Exception) -> None:
    """Tells what the user has to do without, and why."""
    if isinstance(error, _AlreadySaid):
        return
    why = str(error) or type(error).__name__
    print(f"vramstow: {what}: {why}.", file=sys.stderr, flush=True)


def _say_no_tensors(error: Exception) -> None:
    whose = "the pool serves" if _POOLED else "the trace has"
    _say(f"{whose} PyTorch's segments, not its tensors", error)


# The reasons why a kind of library is missing, by the variable that would name it.
_troubles: "dict[str, Exception]" = {}


def _known(folder: str, finished: str) -> str:
    """The compiled library's file, where it is known; else an empty text."""
    lines = os.environ.get(finished, "").split("\n")
    for i in range(0, len(lines) - 1, 2):
        if lines[i] == folder and os.path.exists(lines[i + 1]):
            return lines[i + 1]
        if lines[i] == folder and lines[i + 1] == _NONE:
            raise _NotToBeHadError
    return ""


def _compile(folder: str, wanted: "dict[str, tuple[str, ...]]") -> None:
    """Has the program compile what of these is not there yet, all of it at the same time."""
    missing = {}
    for finished, options in wanted.items():
        try:
            if not _known(folder, finished):
                missing[finished] = options
        except _NotToBeHadError as error:
            _troubles[finished] = error
    if not missing:
        return
    program = os.environ.get(_PROGRAM, "vramstow")
    try:
        outcomes = _beside("builds").run(program, folder, missing)
    except Exception as error:  # whatever goes wrong here, the job must go on
        _troubles.update(dict.fromkeys(missing, error))
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
    """The compiled library's file. An OSError says why there is none."""
    if finished in _troubles:
        raise _troubles[finished]
    lines = os.environ.get(finished, "").split("\n")
    return next(lines[i + 1] for i in range(0, len(lines) - 1, 2) if lines[i] == folder)


def _beside(name: str) -> object:
    """A module that lies in this file's folder, which is not on Python's path."""
    from importlib import util

    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = util.spec_from_file_location(f"vramstow_{name}", file)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _follow_modules(adapter: object) -> None:
    """Follows modules, where the user wants the module of each tensor in the trace."""
    if os.environ.get("VRAMSTOW_STACKS") not in ("sites", "all"):
        return
    try:
        _beside("modules").follow(adapter)
    except Exception as error:
        _say("the trace names no modules", error)


def _follow_steps() -> None:
    """Has the trace say where an optimizer's step ends."""
    try:
        _beside("steps").follow()
    except Exception:  # a PyTorch that does not call back: iterations are found in other ways
        return


def _follow_states() -> None:
    """Has an optimizer's state move while nobody uses it."""
    try:
        _beside("states").follow()
    except Exception:  # a PyTorch that does not call back: it moves as all memory does
        return


def _follow_limits(torch: object) -> None:
    """Has the trace say which line limits what PyTorch may take of the card."""
    try:
        _beside("limits").follow(torch)
    except Exception:  # a PyTorch that is made in another way: the line is not known
        return


def _tell_unread_lines(torch: object) -> None:
    """Has the trace say that it has no lines of this Python (tracer/capture/python_runtime.h)."""
    without_lock = "t" in getattr(sys, "abiflags", "")
    if (3, 10) <= sys.version_info[:2] <= (3, 14) and not without_lock:
        return
    import ctypes

    release = f"{sys.version_info[0]}.{sys.version_info[1]}{'t' if without_lock else ''}"
    try:
        mark = ctypes.CDLL(None).vramstow_mark
        mark.argtypes = [ctypes.c_char_p]
        torch.cuda._lazy_call(lambda: mark(f"vramstow.fact python.no_lines {release}".encode()))
    except Exception:  # a PyTorch that is made in another way
        return


def _follow_weights() -> None:
    """Has the trace say what modules hold, and when torch.save runs."""
    try:
        _beside("weights").follow()
    except Exception:  # a PyTorch that does not call back: call stacks tell what they can
        return


def _folder_of(torch: object) -> str:
    """PyTorch's folder; empty: it is a PyTorch without CUDA."""
    folder = os.path.dirname(os.path.realpath(torch.__file__))
    return folder if os.path.exists(os.path.join(folder, "lib", "libc10_cuda.so")) else ""


def _load(file: str, entry: str, *numbers: int) -> object:
    """Loads a compiled library and calls its function. An OSError says why it does not work."""
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
    except Exception as error:  # whatever goes wrong here, the job must go on
        os.environ[_FINISHED] = f"{folder}\n"  # the library must not try again and repeat this line
        _say_no_tensors(error)
        return False


class _Prepared:
    """A library that was compiled, if needed, and is loaded when CUDA has started.

    An error in compiling is of no interest to a program that does not use CUDA, so
    only load() tells it.
    """

    def __init__(self, folder: str, finished: str) -> None:
        self._file = ""
        self._trouble: Exception | None = None
        try:
            self._file = _library_for(folder, finished)
        except Exception as error:
            self._trouble = error

    def is_ready(self) -> bool:
        return self._trouble is None

    def load(self, entry: str) -> object:
        if self._trouble is not None:
            raise self._trouble
        return _load(self._file, entry)


def _when_cuda_starts(torch: object, call: object) -> None:
    """PyTorch has allocators, which can be observed, once it has initialised CUDA."""
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
    """Tells who holds tensors at an out-of-memory, and has garbage collected before one."""

    def __init__(self, folder: str) -> None:
        # For each part: its entry function, what the user has to do without if it fails, and
        # whether the user asked for it.
        self._parts: list[tuple[str, str, bool]] = []
        if _wants_census():
            what = "an out-of-memory error will not tell who holds the memory"
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
            self._trouble = error

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
                # The census may not support this Python. That is reported only to a user who asked
                # for it.
                if is_asked_for:
                    _say(what, error)

    def stop(self) -> None:
        if self._library is not None:
            getattr(self._library, _CENSUS_STOP)()


_census: "_Census | None" = None  # a text, because Python 3.9 cannot evaluate it


def _card_options() -> list[str]:
    spec = os.environ.get("VRAMSTOW_SIMULATE") or os.environ.get("VRAMSTOW_SIMULATED_CARD", "")
    return spec.split(",")


def _says_what_a_card_would_do() -> bool:
    """Whether the rehearsal has to know each operator, computed or not."""
    return any(
        option == "clock=model" or option.startswith("work-log=") for option in _card_options()
    )


def _wants_operators() -> bool:
    options = _card_options()
    is_kept = "contents=discard" not in options  # else all reads as zeros
    return options[0] != "" and (is_kept or _says_what_a_card_would_do())


def _compute_values(folder: str) -> None:
    """Has the simulated card compute what PyTorch's operators give."""
    wants_all = _OFFLOADED or _says_what_a_card_would_do()
    only_sizes = not _WITHOUT_VALUES.isdisjoint(_card_options()) and not wants_all
    try:
        _load(_library_for(folder, _FINISHED_VALUES), _VALUES, int(only_sizes))
    except Exception as error:
        if only_sizes:
            return  # nobody expects values
        _say("the rehearsal computes nothing of PyTorch", error)


def _prepare_at_import(file: str, otherwise: str) -> None:
    """Changes modules as `file` beside this one has it, each when it is imported."""
    try:
        changes = _beside(file)
    except Exception:  # the summary says what was not computed
        return

    def prepare(module: object) -> None:
        try:
            changes.prepare(module)
        except Exception as error:  # a release that is made in another way
            _say(otherwise, error)

    for name in changes.MODULES:
        sys.meta_path.insert(0, _Finder(name, prepare))


def _run_triton_as_ptx() -> None:
    """Has the simulated card compute what Triton's kernels give, but for trials."""
    _prepare_at_import("triton_ptx", "the rehearsal does not compute Triton's kernels")
    _prepare_at_import("trials", "the rehearsal computes what is only timed, too")


def _go_on_without_other_ranks() -> None:
    """In a job of which only some ranks run, has PyTorch's process groups not wait for others."""
    if any(option.startswith("world=") for option in _card_options()):
        _prepare_at_import("absent_ranks", "the other ranks, which are not there, are waited for")


def _show_card_to_jax() -> None:
    if _card_options()[0] != "":
        _prepare_at_import("jax_card", "JAX may not see the simulated card")


def _wants_trace() -> bool:
    return os.environ.get("VRAMSTOW_TRACE", "1").lower() not in _NO


def _wants_tensors() -> bool:
    if os.environ.get("VRAMSTOW_LEVEL") == "segments":
        return False
    # Metrics need the figures of the tensors even if there is no trace.
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
    """Has PyTorch's allocator wait for cudaMalloc without its lock, before torch is loaded.

    Without the pool, garbage is collected while cudaMalloc fails: what it frees goes into the
    allocator's cache, which the allocator gives back before it asks once more.
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
        _say("garbage will not be collected", OSError("PyTorch keeps its allocator's lock"))
        return
    if _RELEASES_LOCK not in settings:
        os.environ[name] = f"{settings},{_RELEASES_LOCK}:True".lstrip(",")
    _lock_is_released = True


def _wanted() -> "dict[str, tuple[str, ...]]":
    """The parts that have to be compiled for this run, and how."""
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
    """Finds a module as Python would find it without us, and adds one step after its import.

    Programs also ask where torch is without importing it (transformers does), so it stays in place
    until the module is there.
    """

    def __init__(self, name: str, step: object, before: object = None) -> None:
        self._name = name
        self._step = step
        self._before = before  # called with the module's folder, before it is loaded
        self._asking: set[int] = set()  # threads; another finder may ask all finders, too

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


def _end() -> None:
    """Among the last steps before Python is finalised."""
    if "torch" not in sys.modules:
        return
    if _census is not None:
        _census.stop()
    try:
        at_exit = _beside("at_exit")
        at_exit.tell_what_ended_it()
        at_exit.wait_for_rest()
    except Exception:  # whatever goes wrong here, the job ends as it would
        return


def _run_next_sitecustomize() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    from importlib import machinery

    spec = machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from importlib import _bootstrap

    module = _bootstrap.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


os.environ[_HOOKED] = "1"
if _wants_operators() or _wants_tensors():
    sys.meta_path.insert(0, _Finder("torch", _prepare, _release_lock))
_go_on_without_other_ranks()
_show_card_to_jax()
atexit.register(_end)  # before all others, so that it is called after them
_run_next_sitecustomize()
