"""The outcomes of a step: its goal was reached and something was proved, or not, or nothing shown.

A step returns what it proved. It raises FailedError where the goal was missed, and
NothingShownError where the step ran and proved nothing: that is never taken for a success.
"""

from __future__ import annotations

OK = "ok"
FAILED = "no"
NOTHING = "nothing shown"


class FailedError(Exception):
    """The goal was not reached; the text says what was seen."""


class NothingShownError(Exception):
    """Nothing was proved; the text says why."""


class StoppedError(BaseException):
    """The kit was told to end, by the signal that the text names: no error of the step at work."""


class Costs:
    """Figures and the goals that they are held to: a step fails by any that is above its own."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._missed: list[str] = []

    def hold(self, name: str, figure: float, goal: float, unit: str) -> None:
        text = f"{name} {figure:.2f} {unit} (goal {goal:g})"
        self._texts.append(text)
        if figure > goal:
            self._missed.append(text)

    def judge(self, proved: str = "") -> str:
        """All of them as one text."""
        if self._missed:
            raise FailedError(f"too slow: {'; '.join(self._missed)}; of {self}")
        return "; ".join(part for part in (proved, str(self)) if part)

    def __str__(self) -> str:
        return ", ".join(self._texts)
