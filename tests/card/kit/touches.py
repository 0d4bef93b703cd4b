"""Compares the tensors that a trace has as touched during an operator with those that it uses.

The job is use_memory.py: it prints which tensors each of its cases uses, and marks each case in the
trace. In a simulated run the simulator reports what work touches. On a real GPU only the arguments
of launches are known, so a difference is a result there, not a failure.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field

from kit.outcome import FailedError

BEGIN, END, MOST_CASES = 1_000_000, 2_000_000, 1000  # the same numbers as in the job
# The middle of a tensor of at least this size lies on a page that it shares with no other tensor.
LEAST_BYTES = 4 << 20

Range = tuple[int, int]  # address and bytes


@dataclass
class Comparison:
    """For each case, how many of its tensors were not recorded as touched, and how many others
    were."""

    cases: int = 0
    used: int = 0
    seen: int = 0
    unseen: dict[str, int] = field(default_factory=dict)
    unused: dict[str, int] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        return bool(self.unseen or self.unused)

    def __str__(self) -> str:
        parts = [f"{self.cases} cases, {self.seen} of {self.used} tensors that they use were seen"]
        for said, found in (
            ("used and not seen", self.unseen),
            ("seen and not used", self.unused),
        ):
            if found:
                parts.append(f"{said}: {', '.join(f'{n} {count}' for n, count in found.items())}")
        return "; ".join(parts)


def events(trace_as_csv: str) -> Iterable[dict[str, str]]:
    return csv.DictReader(io.StringIO(trace_as_csv))


def touches_by_case(trace_as_csv: str) -> dict[int, list[int]]:
    """Returns the addresses that were touched during each case."""
    found: dict[int, list[int]] = {}
    case: int | None = None
    for event in events(trace_as_csv):
        if event["kind"] == "allocate":
            requested = int(event["requested"])
            if 0 <= requested - BEGIN < MOST_CASES:
                case = requested - BEGIN
            elif 0 <= requested - END < MOST_CASES:
                case = None
        elif event["kind"] == "touch" and case is not None:
            found.setdefault(case, []).append(int(event["address"], 16))
    return found


def overlap(one: Range, other: Range) -> bool:
    return one[0] < other[0] + other[1] and other[0] < one[0] + one[1]


def is_seen(tensor: Range, touched: list[int]) -> bool:
    return any(0 <= address - tensor[0] < tensor[1] for address in touched)


def compare(told: dict, trace_as_csv: str) -> Comparison:
    """Compares the trace with `told`, the last line that the job prints."""
    touched = touches_by_case(trace_as_csv)
    tensors = [(at, size) for at, size in told["tensors"] if size >= LEAST_BYTES]
    result = Comparison(cases=len(told["cases"]))
    for name, (number, ranges) in told["cases"].items():
        addresses = touched.get(number, [])
        all_used = [(at, size) for at, size in ranges]
        used = [one for one in all_used if one[1] >= LEAST_BYTES]
        others = [one for one in tensors if not any(overlap(one, own) for own in all_used)]
        unseen = sum(not is_seen(one, addresses) for one in used)
        unused = sum(is_seen(one, addresses) for one in others)
        result.used += len(used)
        result.seen += len(used) - unseen
        if unseen:
            result.unseen[name] = unseen
        if unused:
            result.unused[name] = unused
    return result


def judge(found: Comparison, is_rehearsal: bool) -> str:
    if found.seen == 0:
        raise FailedError(f"no touch was seen: {found}")
    if not found.differs:
        return str(found)
    if is_rehearsal:
        raise FailedError(str(found))
    return f"{found} (findings: here launches' arguments and a rehearsal differ)"
