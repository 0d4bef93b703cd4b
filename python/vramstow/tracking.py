"""track: measures the device memory of a part of a program."""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType

from vramstow import annotations, library, sizes
from vramstow.library import ALL_DEVICES, Block, Stats

_MOST_SHOWN = 3


class track(ContextDecorator):
    """Measures the device memory of a part of a program, as a context manager or a decorator.

    with vramstow.track("forward") as forward:
        model(batch)
    print(forward)

    The part is also a range of that name in the trace. `peak_bytes` is the peak of the allocated
    bytes within the part. Entering it resets the peaks of vramstow, but not those of torch.cuda.
    The peak of an outer track includes the peaks of inner ones.

    `new_blocks` are found by address and size. So a block is missing there if a block of the same
    size was at its address when the part began, and was freed in it.
    """

    _open: list[track] = []  # noqa: RUF012 - of all threads, the newest last

    def __init__(self, name: str, device: int = ALL_DEVICES) -> None:
        self.name = name
        self.device = device
        self.before: Stats | None = None
        self.after: Stats | None = None
        # The live blocks at the end whose address and size no block had at the beginning, the
        # largest first.
        self.new_blocks: list[Block] = []
        self._blocks_before: set[tuple[int, int]] = set()
        self._peak = 0
        self._reserved_peak = 0
        self._range: annotations.range | None = None

    def _keep_peak(self) -> None:
        now = library.stats(self.device)
        if now is not None:
            self._peak = max(self._peak, now.peak_allocated_bytes)
            self._reserved_peak = max(self._reserved_peak, now.peak_reserved_bytes)

    def __enter__(self) -> track:
        self.after = None
        self.new_blocks = []
        self._peak = self._reserved_peak = 0
        for outer in track._open:
            outer._keep_peak()
        library.reset_peaks(self.device)
        self._blocks_before = {(b.address, b.size_bytes) for b in library.blocks(self.device)}
        self.before = library.stats(self.device)
        self._range = annotations.range(self.name)
        self._range.__enter__()
        track._open.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self in track._open:
            track._open.remove(self)
        if self._range is not None:
            self._range.__exit__(None, None, None)
        self._keep_peak()
        self.after = library.stats(self.device)
        self.new_blocks = [
            block
            for block in library.blocks(self.device)
            if (block.address, block.size_bytes) not in self._blocks_before
        ]
        self._blocks_before = set()

    def _recreate_cm(self) -> track:
        # A decorated function may run in several threads, and may call itself.
        return self if self not in track._open else type(self)(self.name, self.device)

    @property
    def is_in_trace(self) -> bool:
        """Whether the part is a range of the trace. It is none if CUDA was not used before it."""
        return self._range is not None and self._range.is_in_trace

    def _change(self, name: str) -> int:
        return getattr(self.after, name, 0) - getattr(self.before, name, 0)

    @property
    def allocated_bytes(self) -> int:
        """The bytes allocated after the part, minus the bytes allocated before it."""
        return self._change("allocated_bytes")

    @property
    def reserved_bytes(self) -> int:
        return self._change("reserved_bytes")

    @property
    def allocations(self) -> int:
        return self._change("allocations")

    @property
    def peak_bytes(self) -> int:
        """The peak of the allocated bytes within the part, including blocks from before it."""
        return 0 if self.after is None else self._peak

    @property
    def peak_reserved_bytes(self) -> int:
        return 0 if self.after is None else self._reserved_peak

    @property
    def added_peak_bytes(self) -> int:
        """The peak of the allocated bytes within the part, above those that were allocated before
        it.
        """
        before = 0 if self.before is None else self.before.allocated_bytes
        return max(0, self.peak_bytes - before)

    def __str__(self) -> str:
        if self.after is None:
            return f"{self.name}: not known ({library.why_not() or 'it has not ended yet'})"
        lines = (
            f"{self.name}: {self.allocated_bytes / 2**20:+.1f} MiB allocated, "
            f"{self.reserved_bytes / 2**20:+.1f} MiB reserved, peak "
            f"{self.peak_bytes / 2**20:.1f} MiB, {self.allocations} allocations"
        )
        if self.new_blocks:
            shown = ", ".join(sizes.text(b.size_bytes) for b in self.new_blocks[:_MOST_SHOWN])
            lines += f"; largest new blocks {shown}"
        return lines
