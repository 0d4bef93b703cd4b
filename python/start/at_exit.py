"""Lets PyTorch's autograd threads come to rest before Python is finalised.

backward() returns as soon as its results are there. The thread that computed them still lets go of
the graph, and asks for Python's lock to do so. Python up to 3.13 ends a thread that asks for the
lock while Python is being finalised. C++ does not allow that in PyTorch's functions: the process
aborts, and its status is 134 instead of the script's own.

A thread rests if it sleeps and has not been awake for a while: then it waits for the next graph.

It also tells the trace which exception ended the program: one that ran out of memory, went on, and
failed later for another reason is not told as one that memory ended.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

_NAME = "pt_autograd_"  # and a number
_MOST = 2.0  # seconds; nothing that a program does may keep it from ending
_PAUSE = 0.002
# A thread that waits for Python's lock wakes up every 5 ms.
_CALM = 10  # looks, one after each pause, between which nothing has changed

_MOST_ERRORS = 16
# Parts of the messages by which PyTorch and CUDA's libraries report a lack of memory.
_SHORTAGES = ("out of memory", "_STATUS_ALLOC_FAILED", "_STATUS_NOT_INITIALIZED")

_TASKS = "/proc/self/task"
_COUNTS = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


def wait_for_rest() -> None:
    """Returns when the autograd threads rest, after two seconds at the latest."""
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
        time.sleep(_PAUSE)  # gives Python's lock away


def tell_what_ended_it() -> None:
    """Marks the exception that nobody caught: `vramstow.fact program.uncaught NAME`."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if error is None:
        return
    is_of_memory = any(_is_out_of_memory(one) for one in _chain(error))
    name = "OutOfMemoryError" if is_of_memory else type(error).__name__
    _tell_run(name)
    mark = ctypes.CDLL(None).vramstow_mark
    mark.argtypes = [ctypes.c_char_p]
    mark(f"vramstow.fact program.uncaught {name}".encode())


def _tell_run(name: str) -> None:
    """Tells `vramstow run`, too: the disk of the trace may be full."""
    path = os.environ.get("VRAMSTOW_RUN_END", "")
    try:
        # In another container the path may belong to another process.
        if not os.readlink(path).startswith("/memfd:vramstow-run-end"):
            return
        with open(path, "ab", buffering=0) as run:
            run.write(f"{os.getpid()} {name}\n".encode())
    except OSError:
        return


def _chain(error: BaseException) -> list[BaseException]:
    """The exception, and those that it was raised from or while they were handled."""
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain and len(chain) < _MOST_ERRORS:
        chain.append(following)
        following = following.__cause__ or following.__context__
    return chain


def _is_out_of_memory(error: BaseException) -> bool:
    if type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return any(words in text for words in _SHORTAGES)


def _read(task: str, file: str) -> str:
    """Empty where the thread has ended."""
    try:
        with open(f"{_TASKS}/{task}/{file}") as about:
            return about.read()
    except OSError:
        return ""


def _state_of(task: str) -> str:
    """The state of the thread (S: it sleeps) and how often it has been put to sleep."""
    fields = dict(line.partition(":")[::2] for line in _read(task, "status").splitlines())
    counts = [fields.get(name, "").strip() for name in _COUNTS]
    return " ".join([fields.get("State", "S").strip()[:1], *counts])
