"""The Python package of vramstow: reports a program's device memory, and measures parts of it.

The numbers are those of PyTorch's own allocator, or with --pool=on those of vramstow's pool.

The package works without torch. Without a preloaded vramstow, `active()` is false, `stats()`
returns None, the other functions do nothing, and `why_not()` returns the reason. Sizes are bytes.
Devices have CUDA's numbers; ALL_DEVICES stands for their sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vramstow.annotations import annotate_memory, annotate_parameters, iteration, mark, range
from vramstow.estimates import Estimate, EstimateError, estimate
from vramstow.holding import Census, Holder, census
from vramstow.library import (
    ALL_DEVICES,
    Block,
    Stats,
    active,
    blocks,
    dump,
    empty_cache,
    no_more_pressure,
    on_pressure,
    reset_peaks,
    set_limit,
    stats,
    version,
    why_not,
)
from vramstow.logs import add_report, add_scalars, scalars
from vramstow.observing import Observation, ObserveError, explain, observe
from vramstow.reporting import Report, report
from vramstow.residency import OffloadError, offload, pause, region, resume
from vramstow.schedule import Action, schedule, watch
from vramstow.tracking import track

__version__ = "0.1.0"  # the package's version; version() returns the library's

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Handles %load_ext vramstow (docs/notebooks.md)."""
    from vramstow import notebook

    notebook.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Handles %unload_ext vramstow."""
    from vramstow import notebook

    notebook.unload()


__all__ = [
    "ALL_DEVICES",
    "Action",
    "Block",
    "Census",
    "Estimate",
    "EstimateError",
    "Holder",
    "Observation",
    "ObserveError",
    "OffloadError",
    "Report",
    "Stats",
    "active",
    "add_report",
    "add_scalars",
    "annotate_memory",
    "annotate_parameters",
    "blocks",
    "census",
    "dump",
    "empty_cache",
    "estimate",
    "explain",
    "iteration",
    "mark",
    "no_more_pressure",
    "observe",
    "offload",
    "on_pressure",
    "pause",
    "range",
    "region",
    "report",
    "reset_peaks",
    "resume",
    "scalars",
    "schedule",
    "set_limit",
    "stats",
    "track",
    "version",
    "watch",
    "why_not",
]
