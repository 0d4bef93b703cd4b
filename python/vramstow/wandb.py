"""Adds device memory to a run of Weights & Biases, and reports as pages in it, also offline.

import vramstow.wandb
vramstow.wandb.add_scalars(run)                       # logged by the next run.log
run.log({"loss": loss})
vramstow.wandb.add_scalars(run, step=step)            # where run.log has a step, too
run.log({"loss": loss}, step=step)
vramstow.wandb.add_report(run, vramstow.report())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import wandb

from vramstow import library
from vramstow.logs import scalars

if TYPE_CHECKING:
    from vramstow.reporting import Report


def add_scalars(run: wandb.Run, step: int | None = None, device: int = library.ALL_DEVICES) -> None:
    """Adds the numbers to the row that is not finished yet, or to the row of `step`.

    Without a step, `run.log` adds to that row and finishes it. But with a step of its own, as in
    `run.log(values, step=step)`, it begins a new row first. Then pass the same step here.
    """
    numbers = scalars(device)
    if numbers:
        run.log(numbers, step=step, commit=False)


def add_report(run: wandb.Run, report: Report | None, step: int | None = None) -> None:
    """Adds the report as a page that can be opened in the run, or nothing if the report is None."""
    if report is None:  # as report() returns it where this process has no trace
        return
    # The page has its own style and needs no files from elsewhere.
    page = wandb.Html(report.html(), inject=False)
    run.log({"vramstow/report": page}, step=step)
