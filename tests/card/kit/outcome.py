"""The outcomes of a step: its goal was reached and proved, or was missed, or nothing was shown.

A step returns the text of its proof. It raises FailedError if the goal was missed, and
NothingShownError if it ran and proved nothing, which never counts as a success.
"""

from __future__ import annotations

OK = "ok"
FAILED = "no"
NOTHING = "nothing shown"


class FailedError(Exception):
    """Raised if the goal was not reached; the text describes the observation."""


class NothingShownError(Exception):
    """Raised if nothing was proved; the text says why."""


class StoppedError(BaseException):
    """Raised if the signal that the text names ended the kit; no error of the current step."""


class Costs:
    """Measured values and their goals: a step fails if any value is above its goal."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._missed: list[str] = []

    def hold(self, name: str, figure: float, goal: float, unit: str) -> None:
        text = f"{name} {figure:.2f} {unit} (goal {goal:g})"
        self._texts.append(text)
        if figure > goal:
            self._missed.append(text)

    def judge(self, proved: str = "") -> str:
        """Returns all values as one text. Raises FailedError if a goal was missed."""
        if self._missed:
            raise FailedError(f"too slow: {'; '.join(self._missed)}; of {self}")
        return "; ".join(part for part in (proved, str(self)) if part)

    def __str__(self) -> str:
        return ", ".join(self._texts)
