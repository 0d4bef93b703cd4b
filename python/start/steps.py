"""Records the end of each optimizer step in the trace. These ends divide training into iterations.

PyTorch calls back after each step of any optimizer. Each step becomes a mark, `vramstow.step KIND
NUMBER`, where NUMBER identifies the optimizer. A step that is captured into a CUDA graph does not
count, but each replay of the graph does. After a replay the mark is `vramstow.graph_step KIND
NUMBER`, because a replay allocates no tensors that would show work. Compiled steps are not
followed. Errors in this file never reach the program.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from _thread import get_ident


class _Graphs:
    """Stores the graphs in capture, the steps in each graph, and the number of replays."""

    def __init__(self) -> None:
        self.replays = 0
        self._captured: dict[int, weakref.ref] = {}  # captured graphs by thread
        # The key is the graph's identity (`id`), because a graph may have no hash. The weak
        # reference removes the entry when the graph is destroyed.
        self._steps: dict[int, tuple[weakref.ref, list[bytes]]] = {}

    def begin(self, graph: object) -> None:
        self._captured[get_ident()] = weakref.ref(graph)
        self._steps.pop(id(graph), None)  # the graph may have been captured before

    def end(self) -> None:
        self._captured.pop(get_ident(), None)

    def capture(self, text: bytes) -> bool:
        """Adds a step to the graph that this thread captures. Returns False if it captures none."""
        if not self._captured:
            return False
        found = self._captured.get(get_ident())
        graph = found() if found is not None else None
        if graph is None:
            return False
        number = id(graph)
        if number not in self._steps:
            gone = weakref.ref(graph, lambda _: self._steps.pop(number, None))
            self._steps[number] = (gone, [])
        self._steps[number][1].append(text)
        return True

    def steps_of(self, graph: object) -> list[bytes]:
        entry = self._steps.get(id(graph)) if self._steps else None
        return entry[1] if entry is not None else []

    def follow(self, mark: object) -> None:
        """Wraps the methods of torch.cuda.CUDAGraph, to follow captures and replays."""
        from torch.cuda.graphs import CUDAGraph

        capture_begin, capture_end = CUDAGraph.capture_begin, CUDAGraph.capture_end
        replay = CUDAGraph.replay

        @functools.wraps(capture_begin)
        def begin(graph: object, *args: object, **kwargs: object) -> object:
            result = capture_begin(graph, *args, **kwargs)
            self.begin(graph)
            return result

        @functools.wraps(capture_end)
        def end(graph: object, *args: object, **kwargs: object) -> object:
            self.end()
            return capture_end(graph, *args, **kwargs)

        @functools.wraps(replay)
        def replay_and_tell(graph: object, *args: object, **kwargs: object) -> object:
            result = replay(graph, *args, **kwargs)
            self.replays += 1
            for text in self.steps_of(graph):
                mark(text)
            return result

        CUDAGraph.capture_begin, CUDAGraph.capture_end = begin, end
        CUDAGraph.replay = replay_and_tell


class _Stepping:
    """An optimizer that has stepped: its marks, and the number of replays at its last step."""

    def __init__(self, reference: weakref.ref, name: str) -> None:
        self.reference = reference
        self.text = f"vramstow.step {name}".encode()
        self.text_of_graph = f"vramstow.graph_step {name}".encode()
        self.replays = 0


def follow() -> None:
    """Lets PyTorch call back after every step of an optimizer from now on."""
    import torch
    from torch.optim import optimizer as optimizers

    mark = ctypes.CDLL(None).vramstow_mark
    mark.argtypes = [ctypes.c_char_p]
    mark.restype = ctypes.c_int
    graphs = _Graphs()
    is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
    # The key is the optimizer's identity (`id`), because an optimizer whose class defines __eq__
    # may have no hash.
    known: dict[int, _Stepping] = {}
    made = 0

    def keep(optimizer: object) -> _Stepping:
        nonlocal made
        made += 1
        number = id(optimizer)
        gone = weakref.ref(optimizer, lambda _: known.pop(number, None))
        known[number] = _Stepping(gone, f"{type(optimizer).__name__} {made}")
        return known[number]

    def after_step(optimizer: object, _: object, __: object) -> None:
        if is_compiling():
            return
        try:
            stepping = known.get(id(optimizer)) or keep(optimizer)
            if graphs.capture(stepping.text_of_graph):
                return
            is_of_graph = stepping.replays != graphs.replays
            mark(stepping.text_of_graph if is_of_graph else stepping.text)
            stepping.replays = graphs.replays
        except Exception:
            return

    optimizers.register_optimizer_step_post_hook(after_step)
    try:
        graphs.follow(mark)
    except Exception:  # this PyTorch has other graphs; captured steps count as steps
        return
