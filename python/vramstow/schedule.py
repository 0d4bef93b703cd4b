"""watch: tracks some of many steps, by a schedule like torch.profiler's.

schedule = vramstow.schedule(wait=1, warmup=1, active=3, repeat=2)
with vramstow.watch(schedule, on_ready=print) as steps:
    for batch in loader:
        train(batch)
        steps.step()
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import TracebackType

from vramstow import annotations
from vramstow.tracking import track


class Action(Enum):
    """The action of watch in one step."""

    NONE = 0
    WARMUP = 1  # the step runs but is not recorded
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last recorded step of a cycle


def schedule(
    *, wait: int = 0, warmup: int = 0, active: int = 1, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], Action]:
    """Returns a schedule that skips `skip_first` steps, and then waits, warms up and records.

    This cycle is repeated `repeat` times, or always if `repeat` is 0.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError("wait, warmup, repeat and skip_first are 0 or more, and active 1 or more")
    cycle = wait + warmup + active

    def action(step: int) -> Action:
        if step < skip_first:
            return Action.NONE
        turn, place = divmod(step - skip_first, cycle)
        if (repeat and turn >= repeat) or place < wait:
            return Action.NONE
        if place < wait + warmup:
            return Action.WARMUP
        return Action.RECORD if place < cycle - 1 else Action.RECORD_AND_SAVE

    return action


class watch:
    """Marks each iteration in the trace, and passes the results of every recorded window to
    `on_ready`. Without `on_ready` the results are in `windows`.

    Each call of `step` also begins a step, so the last one marks an iteration that does not run. A
    window that begins with this iteration is not a result, unless an exception ends the iteration.
    """

    def __init__(
        self,
        schedule: Callable[[int], Action] | None = None,
        on_ready: Callable[[track], None] | None = None,
    ) -> None:
        self._schedule = schedule or (lambda _step: Action.RECORD)
        self._on_ready = on_ready
        self._window: track | None = None
        self._is_window_new = False  # True if the last call of step began the window
        self.step_number = 0
        self.windows: list[track] = []

    def __enter__(self) -> watch:
        self.step_number = 0
        self._begin()
        self._is_window_new = False
        return self

    def step(self) -> None:
        """Ends a step and begins the next one."""
        self._is_window_new = False
        if self._schedule(self.step_number) is Action.RECORD_AND_SAVE:
            self._save()
        self.step_number += 1
        self._begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_window_new and kind is None and self._window is not None:
            window = self._end()
            if window is None or not window.allocations:
                return  # no step was run in this window
            self._keep(window)
        else:
            self._save()

    def _begin(self) -> None:
        annotations.iteration(self.step_number)
        recorded = self._schedule(self.step_number) in (Action.RECORD, Action.RECORD_AND_SAVE)
        if recorded and self._window is None:
            self._window = track(f"steps from {self.step_number}").__enter__()
            self._is_window_new = True

    def _end(self) -> track | None:
        window, self._window = self._window, None
        if window is not None:
            window.__exit__(None, None, None)
        return window

    def _save(self) -> None:
        window = self._end()
        if window is not None:
            self._keep(window)

    def _keep(self, window: track) -> None:
        if self._on_ready is None:
            self.windows.append(window)
        else:
            self._on_ready(window)  # a long training has too many windows to keep them
