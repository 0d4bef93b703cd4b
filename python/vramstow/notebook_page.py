"""The output below a notebook's cell: a heading, a chart of memory over time, and tables.

It exists as plain text and as HTML, which uses the colours of the surrounding page (dark or light).
Sizes are bytes, times seconds.
"""

from __future__ import annotations

import html
import threading
import time
from dataclasses import dataclass

from vramstow import library

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT = 640, 120  # the chart's size in pixels
_MOST_POINTS = 400
_FIRST_INTERVAL = 0.002
_COLUMNS = 60  # the chart's width as plain text
_LINE = "#3987e5"  # visible on white and on black


def size_text(size: int) -> str:
    """Returns a size in the format of the program's reports: `1.50 GiB`."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"
        value /= 1024
    raise AssertionError


def time_text(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


@dataclass(frozen=True)
class Level:
    """The peak of the allocated bytes in an interval that ends at this time."""

    seconds: float
    size: int


@dataclass(frozen=True)
class Timeline:
    """The allocated memory over the time of a cell."""

    levels: tuple[Level, ...]

    @property
    def _bounds(self) -> tuple[int, int]:
        sizes = [level.size for level in self.levels]
        return min(sizes), max(sizes)

    def __str__(self) -> str:
        low, high = self._bounds
        end = self.levels[-1].seconds or 1.0
        highest = [low] * _COLUMNS
        column = 0
        for level in self.levels:  # a level lasts until the next one
            last = min(_COLUMNS - 1, int(level.seconds / end * _COLUMNS))
            for i in range(column, last + 1):
                highest[i] = max(highest[i], level.size)
            column = last
        scale = (len(_BARS) - 1) / max(1, high - low)
        bars = "".join(_BARS[round((size - low) * scale)] for size in highest)
        return f"{size_text(low)} {bars} {size_text(high)} at the peak, {time_text(end)}"

    def svg(self) -> str:
        """Returns a chart whose text has the colour of the surrounding text."""
        low, high = self._bounds
        end = self.levels[-1].seconds or 1.0
        left, bottom, top = 84, _HEIGHT - 18, 8

        def x(seconds: float) -> float:
            return left + (_WIDTH - left - 8) * seconds / end

        def y(size: int) -> float:
            return bottom - (bottom - top) * (size - low) / max(1, high - low)

        path = f"M{x(0):.1f},{y(self.levels[0].size):.1f}"
        for level in self.levels[1:]:
            path += f"V{y(level.size):.1f}H{x(level.seconds):.1f}"
        peak = max(self.levels, key=lambda level: level.size)
        area = f"{path}V{bottom}H{left}Z"
        label = "font-size='11' fill='currentColor' fill-opacity='0.8'"
        sizes = ((top + 6, high), (bottom, low)) if high > low else ((bottom, low),)
        texts = "".join(
            f"<text x='{left - 6}' y='{at}' text-anchor='end' {label}>{size_text(size)}</text>"
            for at, size in sizes
        )
        return (
            f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' width='{_WIDTH}' height='{_HEIGHT}' role='img'"
            f" style='max-width:100%;height:auto' font-family='sans-serif'>"
            f"<title>memory within the cell: {size_text(low)} to {size_text(high)}, "
            f"{time_text(end)}</title>"
            f"<line x1='{left}' x2='{_WIDTH - 8}' y1='{bottom}' y2='{bottom}' "
            f"stroke='currentColor' stroke-opacity='0.3'/>"
            f"<path d='{area}' fill='{_LINE}' fill-opacity='0.25' stroke='none'/>"
            f"<path d='{path}' fill='none' stroke='{_LINE}' stroke-width='1.5'/>"
            f"<circle cx='{x(peak.seconds):.1f}' cy='{y(peak.size):.1f}' r='3' fill='{_LINE}'/>"
            f"{texts}<text x='{left}' y='{_HEIGHT - 4}' {label}>0</text>"
            f"<text x='{_WIDTH - 8}' y='{_HEIGHT - 4}' text-anchor='end' {label}>"
            f"{time_text(end)}</text></svg>"
        )


class Watch:
    """Samples the allocated bytes in a separate thread while a cell runs.

    The highest level is exact, even between two samples, because the library counts the peak. Long
    cells have longer intervals, so there are never more than a few hundred samples.
    """

    def __init__(self) -> None:
        self._levels: list[Level] = []
        self._interval = _FIRST_INTERVAL
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True, name="vramstow-cell")
        self._began = 0.0
        self._peak = 0

    def __enter__(self) -> Watch:
        now = library.stats()
        if now is not None:
            self._peak = now.peak_allocated_bytes
            self._began = time.monotonic()
            self._look()
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._look()

    def _look_on(self) -> None:
        while not self._done.wait(self._interval):
            self._look()
            if len(self._levels) >= _MOST_POINTS:
                self._levels = [
                    Level(b.seconds, max(a.size, b.size))
                    for a, b in zip(self._levels[::2], self._levels[1::2])
                ]
                self._interval *= 2

    def _look(self) -> None:
        now = library.stats()
        if now is None:
            return
        size = now.allocated_bytes
        if now.peak_allocated_bytes > self._peak:
            self._peak = size = now.peak_allocated_bytes
        self._levels.append(Level(time.monotonic() - self._began, size))

    def timeline(self) -> Timeline | None:
        """Returns the timeline; None if there are no numbers."""
        return Timeline(tuple(self._levels)) if len(self._levels) > 1 else None


@dataclass(frozen=True)
class Row:
    """A row of a table: bytes, number of blocks, and a text."""

    size: int
    blocks: int
    text: str

    @property
    def blocks_text(self) -> str:
        return f"{self.blocks} block" + ("" if self.blocks == 1 else "s")


@dataclass(frozen=True)
class Page:
    """The output below a cell."""

    heading: str
    tables: tuple[tuple[str, tuple[Row, ...]], ...] = ()
    timeline: Timeline | None = None

    def __repr__(self) -> str:
        lines = [self.heading]
        if self.timeline is not None:
            lines.append(str(self.timeline))
        for title, rows in self.tables:
            lines.append(title)
            lines += [
                f"  {size_text(row.size):>10}  {row.blocks_text:>10}  {row.text}" for row in rows
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(self.heading)}</b></p>"]
        if self.timeline is not None:
            parts.append(self.timeline.svg())
        number = "style='text-align:right;white-space:nowrap'"
        for title, rows in self.tables:
            cells = "".join(
                f"<tr><td {number}>{size_text(row.size)}</td><td {number}>{row.blocks_text}</td>"
                f"<td style='text-align:left'><code>{html.escape(row.text)}</code></td></tr>"
                for row in rows
            )
            caption = f"<caption style='text-align:left'>{html.escape(title)}</caption>"
            parts.append(f"<table>{caption}{cells}</table>")
        return f"<div class='vramstow'>{''.join(parts)}</div>"
