"""Observes PyTorch's allocator in a process that was started without vramstow.

The library is loaded into the running program instead of being preloaded, so no CUDA function is
hooked. PyTorch's own snapshot lists the blocks that exist already. Events are recorded from then
on. A process has at most one observation at a time, begun either by the program (vramstow.observe)
or by `vramstow attach`.

`vramstow attach` also runs this file inside processes without the package vramstow. So it imports
nothing of the package. Sizes are bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import threading
import time
import types
from _thread import start_new_thread

_KEY = "_vramstow_observation"  # the name of the module that holds the observation
_PATH = 4096
_CENSUS = 1 << 20
_BUSY = 7
_PATIENCE = 5  # seconds
_NO = {"0", "no", "off", "false"}  # the same words as in base/options.cc
OK = 0


class ObservationError(RuntimeError):
    """The error of an observation. Its text completes a sentence that says why there is none."""


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


class Files:
    """The paths of the libraries: vramstow, the observer, and the census (may be "")."""

    def __init__(self, library: str, observer: str, census: str) -> None:
        self.library = library
        self.observer = observer
        self.census = census


class Observation:
    """An observation of this process. It can end and begin again."""

    def __init__(self, files: Files) -> None:
        self._lock = threading.Lock()
        # Requests run one after the other, because one request may end a service that another one
        # needs.
        self.asked = threading.Lock()
        self._files = files
        self.path = ""  # the trace's path; "" if nothing is observed
        self.why_no_census = ""
        self.patience = _PATIENCE
        self.pid = os.getpid()
        try:
            self.library = ctypes.CDLL(files.library)
            self._observer = ctypes.CDLL(files.observer)
        except OSError as error:
            raise ObservationError(str(error)) from None
        self._tables = ctypes.cast(self.library.vramstow_get_table, ctypes.c_void_p)
        self._census: ctypes.CDLL | None = None

    def begin(self, folder: str) -> str:
        """Begins a trace in the folder and returns the trace's path."""
        with self._lock:
            path = ctypes.create_string_buffer(_PATH)
            attach = self._observer.vramstow_torch_attach
            attach.restype = ctypes.c_char_p
            size = ctypes.c_size_t(len(path))
            why = attach(self._tables, os.fsencode(folder), path, size)
            if why is not None:
                raise ObservationError(_text(why))
            self.path = os.fsdecode(path.value)
            self._begin_census()
            return self.path

    def _begin_census(self) -> None:
        self.why_no_census = "the census does not support this version of PyTorch or Python"
        if not self._files.census:
            return
        try:
            if self._census is None:
                self._census = ctypes.CDLL(self._files.census)
            serve = self._census.vramstow_census_attach
            serve.restype = ctypes.c_char_p
            why = serve(self._tables)
        except (OSError, AttributeError) as error:
            why = str(error).encode()
        self.why_no_census = _text(why)

    def census(self) -> dict:
        """Returns the owners of PyTorch's tensors now, in the format of docs/census.md."""
        if self.why_no_census:
            raise ObservationError(self.why_no_census)
        text = ctypes.create_string_buffer(_CENSUS)
        result = _BUSY
        end = time.monotonic() + self.patience
        # A census (a reference scan) for a failure of the program may be running already.
        while result == _BUSY and time.monotonic() < end:
            result = self.library.vramstow_census(text, ctypes.c_size_t(len(text)))
            if result == _BUSY:
                time.sleep(0.05)
        if result == _BUSY:
            raise ObservationError("Python's lock could not be acquired within some seconds")
        if result != OK:
            raise ObservationError(f"the census failed (vramstow_census returned {result})")
        return json.loads(_text(text.value))

    def end(self) -> None:
        """Ends the observation and closes the trace."""
        with self._lock:
            if not self.path:
                raise ObservationError("this process is not observed")
            if self._census is not None:
                self._census.vramstow_census_detach()
            detach = self._observer.vramstow_torch_detach
            detach.restype = ctypes.c_char_p
            why = detach()
            self.path = ""
            if why is not None:
                raise ObservationError(_text(why))


def is_preloaded() -> bool:
    """True if vramstow has been in this process since its start."""
    return hasattr(ctypes.CDLL(None), "vramstow_version")


def current() -> Observation | None:
    """Returns the observation of this process; None if it has had none."""
    found = getattr(sys.modules.get(_KEY), "observation", None)
    return found if found is not None and found.pid == os.getpid() else None


def prepare(files: Files) -> Observation:
    """Returns the observation of this process. The first call makes it."""
    if is_preloaded():
        if os.environ.get("VRAMSTOW_TRACE", "1").lower() in _NO:
            raise ObservationError(
                "it was started with vramstow run and without a trace: leave --no-trace out"
            )
        raise ObservationError(
            "it was started with vramstow run, so it is already observed: use vramstow ctl"
        )
    found = current()
    if found is None:
        found = Observation(files)
        module = types.ModuleType(_KEY, "The observation of this process by vramstow.")
        module.observation = found  # type: ignore[attr-defined]
        if current() is None:  # another thread may have been faster
            sys.modules[_KEY] = module
        found = current() or found
    return found


# --- Requests of `vramstow attach` ----------------------------------------------------------------


def _answer(request: dict) -> dict:
    files = Files(request["library"], request["observer"], request["census"])
    action = request["action"]
    if action == "end":
        observation = current()
        if observation is None:
            raise ObservationError("this process is not observed")
        with observation.asked:
            path = observation.path
            observation.end()
        return {"path": path}
    observation = prepare(files)
    with observation.asked:
        was_there = bool(observation.path)
        path = observation.path or observation.begin(request["folder"])
        why = observation.why_no_census
        answer: dict = {"path": path, "was_there": was_there, "no_census": why}
        try:
            if action == "census":
                # Only half of the requester's waiting time is used, so that the answer arrives in
                # time.
                observation.patience = request["patience"] / 2
                answer["census"] = observation.census()
        finally:
            observation.patience = _PATIENCE
            if action == "census" and not was_there:
                observation.end()
        return answer


def _claims(request: dict) -> bool:
    """Returns whether the request is still wanted; whoever asked cannot withdraw it then."""
    try:
        made = os.open(request["answer"] + ".claim", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:  # it was withdrawn, or its folder is gone
        return False
    os.close(made)
    return True


def _end_unseen(answer: dict) -> None:
    """Ends the observation that a request began whose answer nobody can read."""
    observation = current()
    if observation is None or answer.get("was_there", True):
        return
    with observation.asked:
        if observation.path == answer["path"]:
            with contextlib.suppress(ObservationError):
                observation.end()


def _serve(request: dict) -> None:
    if not _claims(request):
        return
    try:
        answer = _answer(request)
    except Exception as error:  # any error is reported to the client, and the job continues
        answer = {"error": str(error) or type(error).__name__}
    beside = request["answer"] + ".new"
    try:
        with open(beside, "w", encoding="utf-8") as file:
            json.dump(answer, file)
        os.replace(beside, request["answer"])
    except OSError:  # no client waits any more
        _end_unseen(answer)


def _give_back(page: int, size: int) -> None:
    """Unmaps the memory through which `vramstow attach` passed this file's path."""
    unmap = ctypes.CDLL(None).munmap
    unmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    unmap(page, size)


def serve(request_file: str, page: int, size: int) -> None:
    """Handles the request in a new thread and writes the answer to a file."""
    with open(request_file, encoding="utf-8") as file:
        request = json.load(file)

    def work() -> None:
        _serve(request)
        _give_back(page, size)

    start_new_thread(work, ())


if "REQUEST" in globals():
    serve(REQUEST, PAGE, BYTES)  # type: ignore[name-defined]  # noqa: F821
