"""Tests the rules that the simulator was built from on the real driver, many in one process.

A GPU needs a good part of a second to create a context, so the rules of one process share one. If a
rule fails, or its process dies or hangs, it is tried once more by itself, because an earlier rule
may have broken the context. The results of the rules after it do not count, and those rules run
again in a new process. Rules that are known to break their context run by themselves at once. Rules
that fill the GPU, and rules about undefined behaviour, do not run at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kit.machine import Machine, NoTimeError
from kit.outcome import FailedError, NothingShownError

AT_ONCE = 60
# The beginnings of names of suites whose rules allocate all memory of the GPU, or crash its driver.
LEFT_OUT = ("Filling", "Undefined")
BREAKING = "Breaks"  # names of rules that break their context contain it

BEGAN = re.compile(r"^\[ RUN      \] (\S+)$", re.MULTILINE)
ENDED = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] ([\w./]+) \(\d+ ms\)$", re.MULTILINE)
SKIPPED_FOR = re.compile(r": Skipped\n(.+)")


@dataclass
class Rules:
    """The results of the rules by name."""

    held: set[str] = field(default_factory=set)
    skipped: dict[str, str] = field(default_factory=dict)  # maps a rule to the reason
    broken: dict[str, str] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)


def listed(text: str) -> list[str]:
    """Returns the names in the output of --gtest_list_tests."""
    names, suite = [], ""
    for line in text.splitlines():
        name = line.split("#")[0].rstrip()
        if not name.startswith(" "):
            suite = name
        else:
            names.append(suite + name.strip())
    return names


def read(output: str, how: str, rules: Rules) -> list[str]:
    """Reads the output of a process; returns the rules up to the first that broke."""
    tried: list[str] = []
    place = 0
    for ended in ENDED.finditer(output):
        outcome, name = ended.groups()
        tried.append(name)
        rules.broken.pop(name, None)
        said = output[place : ended.start()]
        place = ended.end()
        if outcome == "OK":
            rules.held.add(name)
        elif outcome == "SKIPPED":
            why = SKIPPED_FOR.search(said)
            rules.skipped[name] = why[1].strip() if why else "it does not say why"
        else:
            rules.broken[name] = "fails"
            return tried
    began = BEGAN.findall(output)
    if began and began[-1] not in tried:
        tried.append(began[-1])
        rules.broken[began[-1]] = f"its process {how}"
    return tried


class Contract:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._program = str(machine.bundle / "bin/driver_contract")
        self._runs = 0
        self.rules = Rules()

    def names(self) -> list[str]:
        ended = self._machine.run([self._program, "--gtest_list_tests"])
        if ended.failure_reason:
            raise FailedError(ended.failure_reason)
        return [name for name in listed(ended.out) if not name.startswith(LEFT_OUT)]

    def _try(self, names: list[str]) -> list[str]:
        self._runs += 1
        self._machine.extra |= {
            "VRAMSTOW_TEST_DRIVER": self._machine.driver,
            "VRAMSTOW_TEST_KEEPS_CONTEXT": "1",
            # Processes with the same VRAMSTOW_RUN_ID share a simulated GPU. Each run of the program
            # has its own.
            "VRAMSTOW_RUN_ID": f"contract-{self._runs}",
        }
        ended = self._machine.run([self._program, f"--gtest_filter={':'.join(names)}"])
        how = "did not end" if ended.status is None else f"ended with status {ended.status}"
        tried = read(ended.out, how, self.rules)
        if not tried:
            # No rule began, so the message concerns the program, not a rule.
            raise FailedError(ended.failure_reason or "the program of the rules tried none")
        return tried

    def run(self) -> Rules:
        names = self.names()
        alone = [name for name in names if BREAKING in name]
        waiting = [name for name in names if BREAKING not in name]
        rules = self.rules
        try:
            while waiting:
                batch = waiting[:AT_ONCE]
                tried = self._try(batch)
                waiting = [name for name in batch if name not in tried] + waiting[AT_ONCE:]
                if len(tried) > 1 and tried[-1] in rules.broken:
                    self._try([tried[-1]])
            for name in alone:
                self._try([name])
        except NoTimeError:
            done = rules.held | rules.skipped.keys() | rules.broken.keys()
            rules.untried = [name for name in names if name not in done]
        return rules


def reasons(skipped: dict[str, str]) -> str:
    """Returns why rules were skipped: each reason once, with the number of rules."""
    counts: dict[str, int] = {}
    for why in skipped.values():
        counts[why] = counts.get(why, 0) + 1
    return ", ".join(f"{count} because {why}" for why, count in sorted(counts.items()))


def told(rules: Rules) -> str:
    """Returns the outcome as one text; raises FailedError or NothingShownError if not all rules
    hold."""
    text = f"{len(rules.held)} rules hold"
    if rules.skipped:
        text += f"; {len(rules.skipped)} skipped: {reasons(rules.skipped)}"
    if rules.untried:
        text += f"; {len(rules.untried)} not tried, because no time was left"
    if rules.broken:
        which = ", ".join(f"{name} ({why})" for name, why in sorted(rules.broken.items()))
        raise FailedError(f"{len(rules.broken)} rules do not hold: {which}; {text}")
    if not rules.held or rules.untried:
        raise NothingShownError(text)
    return text
