"""Regions of live memory, and functions that offload, pause and resume them.

Without vramstow, or without --offload, the functions do nothing and return False, and all memory
remains on the device.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType

from vramstow import library

_NOT_ACTIVE = 1
_INVALID = 2
_NO_MEMORY = 4
_OF_GRAPH = 11
_WHY = {
    _NO_MEMORY: "the host lacks memory for the rest, or the limit host= of --offload is reached",
    7: "submitted work does not end",
    8: "the device cannot map host memory (pause and resume work)",
    9: "the driver refused",
    10: "a stream is being captured",
    _OF_GRAPH: "a captured graph may use the rest",
    12: "another process or a device uses the rest",
}
# Reasons that are not the same for all requests.
_WHY_OF = {
    ("resume", _NO_MEMORY): "the device has not enough free memory for the rest",
    ("pause", _OF_GRAPH): (
        "a captured graph may use the rest (with graphs=True it is paused, too, if no graph is "
        "launched before resume)"
    ),
}
_DISCARD = 1
_GRAPHS = 2


class OffloadError(RuntimeError):
    """The memory was not moved, or only a part of it."""


class region(ContextDecorator):
    """A group of the memory that this thread allocates within the context.

    with vramstow.region("weights"):
        model = Model().cuda()

    Names have 1 to 63 bytes. If regions are nested, memory belongs to the innermost one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        if not 0 < len(name.encode()) < 64 or "\0" in name:
            raise ValueError(f"a region's name has 1 to 63 bytes: {name!r}")
        self._open: list[bool] = []

    def __enter__(self) -> region:
        push = library.function("vramstow_region_push")
        self._open.append(push is not None and push(self.name.encode()) == library.OK)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pop = library.function("vramstow_region_pop")
        if self._open.pop() and pop is not None:
            pop()


def _ask(name: str, what: str | None, *arguments: int) -> bool:
    found = library.function(name)
    if found is None:
        return False
    code = found(None if what is None else what.encode(), *arguments)
    if code in (library.OK, _NOT_ACTIVE):
        return code == library.OK
    order = name.removeprefix("vramstow_")
    if code == _INVALID:
        raise ValueError(f"{order}: nothing was allocated in a region {what!r}")
    why = _WHY_OF.get((order, code), _WHY.get(code, f"error {code}"))
    raise OffloadError(f"{order}: {why}")


def offload(region: str | None = None) -> bool:
    """Evicts a region's memory to the host, at the same address; None means all movable memory.

    The program can still use the memory, but more slowly. It is restored when it is used, or by
    resume().
    """
    return _ask("vramstow_offload", region)


def pause(region: str, *, keep: bool = True, graphs: bool = False) -> bool:
    """Frees the device memory of a region until resume(). The program must not use it meanwhile.

    If `keep` is false, its contents are lost. If `graphs` is true, memory that captured CUDA graphs
    may use is paused as well. Then the program must launch no graph before resume(), and a launch
    is an error.
    """
    contents = (0 if keep else _DISCARD) | (_GRAPHS if graphs else 0)
    return _ask("vramstow_pause", region, contents)


def resume(region: str | None = None) -> bool:
    """Restores memory that was offloaded or paused."""
    return _ask("vramstow_resume", region)
