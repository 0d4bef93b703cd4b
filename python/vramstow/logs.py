"""Adds device memory to a training's logs: TensorBoard here, others in modules of their own.

The numbers are those of PyTorch's own allocator, or with --pool=on those of the pool. Unknown
numbers are omitted. Without vramstow, and before memory is allocated, nothing is logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from vramstow import library

if TYPE_CHECKING:
    from vramstow.reporting import Report

# The fields of Stats that are logged as curves.
_LOGGED = (
    "allocated_bytes",
    "requested_bytes",
    "reserved_bytes",
    "peak_allocated_bytes",
    "peak_reserved_bytes",
    "offloaded_bytes",
    "allocations",
    "misses",
    "out_of_memory",
    "fence_waits",
    "retries",
)


class Writer(Protocol):
    """A SummaryWriter of torch or tensorboardX, or any object with these methods."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> None: ...

    def add_text(self, tag: str, text_string: str, global_step: int | None = None) -> None: ...


def scalars(device: int = library.ALL_DEVICES, prefix: str = "vramstow/") -> dict[str, float]:
    """Returns the numbers by name ("vramstow/allocated_bytes" and so on); empty if there are none.

    `reserved_over_allocated` is the ratio of the two peaks; 1.0 is perfect.
    """
    stats = library.stats(device)
    if stats is None:
        return {}
    known = {name: getattr(stats, name) for name in _LOGGED}
    numbers = {prefix + name: float(value) for name, value in known.items() if value is not None}
    if stats.peak_allocated_bytes:
        ratio = stats.peak_reserved_bytes / stats.peak_allocated_bytes
        numbers[prefix + "reserved_over_allocated"] = ratio
    return numbers


def add_scalars(writer: Writer, step: int, device: int = library.ALL_DEVICES) -> None:
    """Adds the current numbers to a TensorBoard writer, at this step."""
    for name, value in scalars(device).items():
        writer.add_scalar(name, value, step)


def add_report(writer: Writer, report: Report | None, step: int | None = None) -> None:
    """Adds the text of a report to TensorBoard's text page, or nothing if the report is None."""
    if report is None:  # as report() returns it where this process has no trace
        return
    # A code fence shows the report unchanged.
    writer.add_text("vramstow/report", f"~~~~\n{report.text()}\n~~~~", step)
