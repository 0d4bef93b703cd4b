"""Measures on the GPU the times that the simulator's clock assumes (clock=model).

bin/driver_times measures them, and has the model's value for each. On a simulated GPU with that
clock both must be the same; on a real GPU the differences are results.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from kit.machine import Machine
from kit.outcome import FailedError, NothingShownError

SAME = 0.01  # a copy's time also contains its call
FINDING = 0.25  # a difference that is reported on a real GPU


@dataclass(frozen=True)
class Time:
    name: str
    unit: str
    measured: float
    modelled: float

    @property
    def apart(self) -> float:
        """Returns the difference of the two values, as a share of the model's."""
        return abs(self.measured - self.modelled) / self.modelled

    def __str__(self) -> str:
        return f"{self.name}: {self.measured:.3g} {self.unit} (model {self.modelled:.3g})"


def told(times: list[Time], clock: str, model_card: str, why_not_all: str = "") -> str:
    """Returns all values as one text, first those that differ. Raises FailedError or
    NothingShownError."""
    text = "; ".join(map(str, times))
    missing = f"; not all were measured: {why_not_all}" if why_not_all else ""
    wrong = [str(time) for time in times if not time.measured > 0]
    if wrong:
        raise FailedError(f"it took no time: {'; '.join(wrong)}")
    if clock == "machine":
        raise NothingShownError(f"a simulated card says nothing of a driver's times: {text}")
    apart = [time for time in times if time.apart > (SAME if clock == "model" else FINDING)]
    if clock == "model" and (apart or missing):
        raise FailedError(f"other than the model: {'; '.join(map(str, apart))}{missing}")
    if clock == "model":
        return f"{len(times)} times, all of them the model's: {text}"
    names = ", ".join(f"{time.name} ({time.measured / time.modelled:.2f})" for time in apart)
    beside = f"{len(apart)} of {len(times)} times differ by more than {FINDING:.0%} from"
    return f"{beside} the model of {model_card}: {names or 'none'}. All: {text}{missing}"


def measure(machine: Machine) -> str:
    ended = machine.run([str(machine.bundle / "bin/driver_times"), machine.driver])
    if ended.failure_reason:
        raise FailedError(ended.failure_reason)
    said = json.loads(ended.out)
    times = [Time(**row) for row in said["times"]]
    return told(times, said["clock"], said["model_card"], said["why_not_all"])
