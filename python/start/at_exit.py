"""Waits for PyTorch's autograd threads before Python is finalised.

backward() returns as soon as its results are ready. The thread that computed them still frees the
graph, and needs Python's lock (the GIL) for that. Up to Python 3.13, a thread that asks for this
lock while Python is finalised is ended. In PyTorch's functions C++ does not allow that, so the
process aborts with status 134 in place of the script's own status.

A thread counts as idle if it has slept for a while. Then it waits for the next graph.

This file also records which exception ended the program. A program that ran out of memory,
continued, and failed later for another reason is then not reported as ended by an out-of-memory
error.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

_NAME = "pt_autograd_"  # the beginning of these threads' names
_MOST = 2.0  # seconds, so that no program is kept from ending
_PAUSE = 0.002
# A thread that waits for Python's lock wakes up every 5 ms.
_CALM = 10  # consecutive samples without a change

_MOST_ERRORS = 16
# Parts of the messages by which PyTorch and CUDA's libraries report a lack of memory.
_SHORTAGES = ("out of memory", "_STATUS_ALLOC_FAILED", "_STATUS_NOT_INITIALIZED")

_IPYTHON = "IPython.core.interactiveshell"
_PROMPTS = ("<stdin>", "<console>", "<python-input")  # the files of lines that a user types

_TASKS = "/proc/self/task"
_COUNTS = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


def wait_for_rest() -> None:
    """Returns when the autograd threads are idle, or after two seconds."""
    threads = [task for task in os.listdir(_TASKS) if _read(task, "comm").startswith(_NAME)]
    if not threads:
        return
    end = time.monotonic() + _MOST
    last: list[str] = []
    calm = 0
    while calm < _CALM and time.monotonic() < end:
        now = [_state_of(task) for task in threads]
        calm = calm + 1 if now == last and all(state.startswith("S") for state in now) else 0
        last = now
        time.sleep(_PAUSE)  # releases Python's lock


def watch_threads() -> None:
    """Counts the threads that an out-of-memory ends, because no code in them catches it.

    The program goes on without them: `vramstow.fact program.threads_ended COUNT`.
    """
    import contextlib
    import threading

    before = threading.excepthook
    ended = 0

    def tell(about: threading.ExceptHookArgs) -> None:
        nonlocal ended
        with contextlib.suppress(Exception):
            error = about.exc_value
            if error is not None and any(_is_out_of_memory(one) for one in _chain(error)):
                ended += 1
                _mark(f"vramstow.fact program.threads_ended {ended}")
        before(about)

    threading.excepthook = tell


def _mark(text: str) -> None:
    mark = ctypes.CDLL(None).vramstow_mark
    mark.argtypes = [ctypes.c_char_p]
    mark(text.encode())


def tell_what_ended_it() -> None:
    """Marks the uncaught exception in the trace: `vramstow.fact program.uncaught NAME`."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if error is None or _was_survived(error):
        return
    is_of_memory = any(_is_out_of_memory(one) for one in _chain(error))
    name = "OutOfMemoryError" if is_of_memory else type(error).__name__
    _tell_run(name)
    _mark(f"vramstow.fact program.uncaught {name}")


def _was_survived(error: BaseException) -> bool:
    """Returns True if an interactive shell displayed this error, and the program went on.

    The error of a notebook's last cell is not survived: nothing ran after it.
    """
    if isinstance(error, SystemExit):
        return True  # Python ends by one without storing it, so only a shell stores one
    trace = error.__traceback__
    if trace is None:
        return False
    first = trace.tb_frame
    if first.f_globals.get("__name__") == _IPYTHON:
        shell = getattr(first.f_globals.get("InteractiveShell"), "_instance", None)
        has_run = getattr(shell, "last_execution_result", None) is not None
        return has_run and getattr(shell, "last_execution_succeeded", False)
    return hasattr(sys, "ps1") and first.f_code.co_filename.startswith(_PROMPTS)


def _tell_run(name: str) -> None:
    """Passes the name to `vramstow run` as well, because the trace's disk may be full."""
    path = os.environ.get("VRAMSTOW_RUN_END", "")
    try:
        # If `vramstow run` is in another container, this path may belong to another process.
        if not os.readlink(path).startswith("/memfd:vramstow-run-end"):
            return
        with open(path, "ab", buffering=0) as run:
            run.write(f"{os.getpid()} {name}\n".encode())
    except OSError:
        return


def _chain(error: BaseException) -> list[BaseException]:
    """Returns the exception, its causes, and the exceptions during whose handling it was raised."""
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and len(chain) < _MOST_ERRORS:
        if any(following is known for known in chain):
            break
        chain.append(following)
        following = following.__cause__ or following.__context__
    return chain


def _is_out_of_memory(error: BaseException) -> bool:
    if type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return any(words in text for words in _SHORTAGES)


def _read(task: str, file: str) -> str:
    """Returns the contents of the file; empty if the thread has ended."""
    try:
        with open(f"{_TASKS}/{task}/{file}") as about:
            return about.read()
    except OSError:
        return ""


def _state_of(task: str) -> str:
    """Returns the state of the thread (S if it sleeps) and its numbers of context switches."""
    fields = dict(line.partition(":")[::2] for line in _read(task, "status").splitlines())
    counts = [fields.get(name, "").strip() for name in _COUNTS]
    return " ".join([fields.get("State", "S").strip()[:1], *counts])
