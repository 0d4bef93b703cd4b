"""vramstow for a Python program: what device memory it holds, and what a piece of code did with it.

The numbers are those of PyTorch's own allocator, or with --pool=on those of vramstow's pool.

The package works without torch. Where vramstow is not preloaded, `active()` is false, `stats()`
returns None, the other functions do nothing, and `why_not()` says why. Sizes are bytes; devices are
CUDA's numbers, and ALL_DEVICES means their sum.
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

__version__ = "0.1.0"  # of the package; version() is that of the preloaded library

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """%load_ext vramstow (docs/notebooks.md)."""
    from vramstow import notebook

    notebook.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """%unload_ext vramstow."""
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
