"""Records events from every kind of Python call, and writes down the stacks that Python reports.

python_stacks_test.py runs it. Usage: python_stacks.py PROBE FOLDER. The expected stacks are written
to FOLDER/truth.json: for each sequence number a list of frames (function, file, line), the
innermost first.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import gc
import json
import random
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

# CDLL releases the interpreter's lock while the library is called, PyDLL does not.
without_lock = ctypes.CDLL(sys.argv[1])
with_lock = ctypes.PyDLL(sys.argv[1])
for library in (without_lock, with_lock):
    library.probe_record.restype = ctypes.c_uint64
    library.probe_record_block.restype = ctypes.c_uint64
Callback = ctypes.CFUNCTYPE(None)
truth: dict[int, list[tuple[str, str, int]]] = {}
through_c: list[int] = []


def frames(frame: FrameType | None) -> list[tuple[str, str, int]]:
    found = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        found.append((name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


recorders = [library.probe_record for library in (without_lock, with_lock)]
recorders += [library.probe_record_block for library in (without_lock, with_lock)]


def snap() -> int:
    for record in recorders:
        # Both calls are in one line of code, so that both have the same line number.
        said = (record(), frames(sys._getframe()))
        truth[said[0]] = said[1]
    return said[0]


def deep(depth: int) -> int:
    return snap() if depth == 0 else deep(depth - 1)


def generator(count: int) -> Iterator[int]:
    for _ in range(count):
        yield snap()


def outer_generator() -> Iterator[int]:
    yield from generator(2)
    yield snap()


async def coroutine(depth: int) -> int:
    if depth > 0:
        await asyncio.sleep(0)
        return await coroutine(depth - 1)
    return snap()


class Thing:
    seen = 0

    def method(self) -> int:
        return snap()

    @property
    def attribute(self) -> int:
        return self.method()

    def __enter__(self) -> Thing:
        snap()
        return self

    def __exit__(self, *_: object) -> bool:
        snap()  # while an exception is handled
        return True

    def __del__(self) -> None:
        snap()

    def __lt__(self, other: object) -> bool:
        snap()
        return False


def decorated(function: Callable[[], int]) -> Callable[[], int]:
    @functools.wraps(function)
    def wrapper() -> int:
        return function()

    return wrapper


@decorated
def with_wrapper() -> int:
    return snap()


def exceptions() -> None:
    try:
        try:
            raise ValueError("first")
        finally:
            snap()
    except ValueError:
        snap()
        try:
            raise KeyError("second")
        except KeyError:
            snap()


def by_c(depth: int) -> None:
    """Calls Python, C, Python, C and Python within each other."""
    if depth == 0:
        through_c.append(snap())
        return
    without_lock.probe_call(Callback(lambda: by_c(depth - 1)))


def many_lines() -> int:
    return max(
        1,
        snap(),
        *[snap() + one - one for one in range(2)],
        (lambda: snap())(),
    )


def größe_名前() -> int:
    return snap()


def reused_code() -> None:
    """Frees code objects, so that others of the same size get their addresses."""
    for i in range(300):
        name = f"name_{i % 7}_{'x' * (i % 3)}"
        source = "\n" * (i % 11) + f"def {name}():\n    return snap()\n"
        space: dict[str, object] = {"snap": snap}
        exec(compile(source, f"made-{i % 5}-{'é名'[i % 2]}.py", "exec"), space)
        function = space[name]
        assert callable(function)
        function()
        del space, function
        if i % 50 == 0:
            gc.collect()


def code_that_stays_for_long() -> None:
    """Calls a function often, then frees it, so that other code gets its address."""
    for i in range(4):
        source = "\n" * (i % 3) + f"def name_{i % 2}():\n    return snap()\n"
        space: dict[str, object] = {"snap": snap}
        exec(compile(source, f"stays-{i}.py", "exec"), space)
        function = space[f"name_{i % 2}"]
        assert callable(function)
        # After so many calls the tracer recognises the function's frames by their addresses alone
        # (see FrameTrust).
        for _ in range(1000):
            function()
        del space, function


def one() -> int:
    return snap()


def other() -> int:
    return snap()


def lines(line: int) -> int:
    if line == 0:
        return snap()
    if line == 1:
        return snap()
    return snap() if line == 2 else one()


def resumed() -> Iterator[int]:
    while True:
        yield snap()
        yield snap()


def resume_here(made: Iterator[int]) -> int:
    return next(made)


def resume_there(made: Iterator[int]) -> int:
    return next(made)


async def awaited(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
        snap()


async def several_at_once() -> None:
    """Several tasks of one function take turns, so that one caller resumes them all."""
    await asyncio.gather(*[awaited(3) for _ in range(3)], coroutine(2))


def through_sort(depth: int) -> int:
    """Calls Python by C at several depths, at which the same code has other callers."""
    if depth == 0:
        return snap()
    return sorted([depth], key=lambda _: through_sort(depth - 1))[0]


def by_greenlets() -> None:
    """Switches between native stacks, if the package is installed."""
    try:
        import greenlet
    except ImportError:
        return

    def visit(depth: int) -> None:
        for _ in range(3):
            deep(depth)
            main.switch()

    main = greenlet.getcurrent()
    parts = [greenlet.greenlet(visit) for _ in range(3)]
    for _ in range(4):
        for depth, part in enumerate(parts):
            part.switch(depth)


def recurring() -> None:
    """Repeats calls whose frames lie at the same addresses and differ otherwise. No code is freed
    meanwhile: after some captures the tracer recognises stacks by the addresses of instructions
    (see FrameTrust).
    """
    for _ in range(150):
        one()
    left, right = resumed(), resumed()
    for turn in range(4):
        for function in (one, other, one, lambda: snap(), lambda: other()):
            function()
        for line in (0, 1, 2, 3, 1, 0):
            lines(line)
        for depth in (3, 5, 4, 5, 3):
            deep(depth)
            through_sort(depth)
        for resume in (resume_here, resume_there, next):
            resume(left)
            if turn % 2 == 0:
                resume(right)
        asyncio.run(several_at_once())
        by_greenlets()
        # Two calls in one line differ in their instructions only.
        _ = (one(), one(), other())


def randomly(rng: random.Random, depth: int) -> None:
    """A chain of random calls."""
    if depth == 0:
        snap()
        return
    way = rng.randrange(7)
    if way == 0:
        randomly(rng, depth - 1)
    elif way == 1:
        (lambda: randomly(rng, depth - 1))()
    elif way == 2:
        [randomly(rng, depth - 1) for _ in range(1)]
    elif way == 3:
        for _ in (randomly(rng, depth - 1) for _ in range(1)):
            pass
    elif way == 4:
        without_lock.probe_call(Callback(lambda: randomly(rng, depth - 1)))
    elif way == 5:
        list(map(lambda _: randomly(rng, depth - 1), [1]))
    else:
        try:
            raise ValueError(depth)
        except ValueError:
            randomly(rng, depth - 1)


def everything() -> None:
    snap()
    for depth in (1, 2, 30, 700):
        deep(depth)
    list(outer_generator())
    asyncio.run(coroutine(3))
    thing = Thing()
    thing.method()
    _ = thing.attribute
    with Thing() as other:
        del other
        raise ValueError("in flight")
    del thing
    gc.collect()
    sorted([Thing(), Thing()])
    with_wrapper()
    exceptions()
    by_c(3)
    many_lines()
    größe_名前()
    reused_code()
    eval("snap()", {"snap": snap})
    rng = random.Random(3)
    for _ in range(200):
        randomly(rng, rng.randrange(12))


def main() -> None:
    recurring()
    code_that_stays_for_long()
    everything()
    for function, count in ((recurring, 2), (everything, 4)):
        threads = [threading.Thread(target=function) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


assert with_lock.probe_open(sys.argv[2].encode(), 2) == 0
truth.clear()
main()
with_lock.probe_close()
with open(f"{sys.argv[2]}/truth.json", "w") as file:
    json.dump({"truth": truth, "through_c": through_c}, file)
