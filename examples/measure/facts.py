"""Runs one variant of a technique under `vramstow run`, and reads the facts from its JSON outputs.

Each variant runs twice: with PyTorch's own allocator (for reserved memory, driver calls and host
memory), and with the pool and call stacks (for single tensors and their purposes); on a real GPU
only with PyTorch's own allocator. A technique with flags of its own runs once, with those flags.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from technique import ROOT, Technique

BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
VRAMSTOW = BUILD / "bin/vramstow"
# Facts are kept beside the traces, so that techniques can be measured one after another. They are
# in this tree even if pip installed vramstow elsewhere.
KEPT = ROOT / "build/examples"
_TIMEOUT_S = 300
# Python up to 3.13 may abort at exit if autograd's thread is slow (README.md, Limits).
_PYTHONS_OWN_ABORT = "terminate called without an active exception"

Facts = dict[str, Any]


class FailedError(Exception):
    """Raised if a run failed; the text is one sentence with the reason."""


@dataclass(frozen=True)
class Run:
    """The output of a command, and its traces."""

    status: int
    out: str
    err: str
    folder: Path

    def analyses(self) -> list[Facts]:
        """Returns the analysis of each process's trace, in order of rank."""
        traces = sorted(self.folder.glob("*.stow"))
        if not traces:
            raise FailedError("it left no trace.")
        found = _analyze(*traces)
        return found["ranks"] or [found]

    def counted(self) -> list[Facts]:
        """Returns the script's own results: a line of JSON from each rank."""
        lines = [line for line in self.out.splitlines() if line.startswith('{"technique"')]
        try:
            return [json.loads(line) for line in lines]
        except json.JSONDecodeError:
            raise FailedError(f"it printed what is no JSON: {lines}") from None


def _analyze(*inputs: Path) -> Facts:
    listing = subprocess.run(
        [VRAMSTOW, "analyze", "--json", *inputs], capture_output=True, text=True, check=False
    )
    if listing.returncode != 0:
        raise FailedError(f"its trace cannot be analysed: {listing.stderr.strip()}")
    return json.loads(listing.stdout)


def command(technique: Technique, variant: str) -> list[str]:
    """Returns the command that starts the script, as on the page: relative to the top of the
    repository."""
    python = ["python"]
    if technique.ranks > 1:
        python = ["torchrun", "--standalone", f"--nproc-per-node={technique.ranks}"]
    return [*python, f"examples/techniques/{technique.name}.py", variant]


def card(technique: Technique, simulate: str) -> str:
    """Returns options for the simulated GPU, or nothing for a real GPU. The technique's own options
    come last, so they override the others."""
    return ",".join(filter(None, (simulate, technique.card))) if simulate else ""


def flags_of(technique: Technique, variant: str, simulate: str) -> list[str]:
    """Returns the flags of the run with call stacks, or, if the technique has no flags of its own,
    of the only run on a real GPU. There the pool is limited to the size of the simulated GPU."""
    own = technique.flags.get(variant)
    if own is None and not simulate:
        return ["--pool=off"]
    flags = ["--pool=on"] if own is None else own
    size = re.search(r"\bmemory=(\w+)", technique.card)
    is_limited = not simulate and size is not None and "--pool=on" in flags
    return [*flags, *([f"--limit={size[1]}"] if is_limited else []), "--stacks=all"]


def why_left_out(technique: Technique, simulate: str) -> str:
    """Returns a sentence if the technique must run out of memory that a real GPU has; otherwise
    nothing."""
    for variant in () if simulate else technique.dies:
        if not any(flag.startswith("--limit=") for flag in flags_of(technique, variant, simulate)):
            return (
                f"It was left out, because its variant `{variant}` must run out of memory, and a "
                "real GPU cannot be made smaller without the pool."
            )
    return ""


def _run(technique: Technique, variant: str, simulate: str, flags: list[str], folder: Path) -> Run:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if simulate:
        flags = [f"--simulate={card(technique, simulate)}", *flags]
    start = [sys.executable]
    if technique.ranks > 1:
        start += ["-m", "torch.distributed.run", *command(technique, variant)[1:3]]
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    env.setdefault("VRAMSTOW_ADAPTER_DIR", str(BUILD / "adapters"))
    try:
        result = subprocess.run(
            [
                VRAMSTOW,
                "run",
                *flags,
                "--trace-dir",
                folder,
                "--",
                *start,
                technique.script,
                variant,
            ],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            env=env,
            cwd=ROOT,
        )
    except subprocess.TimeoutExpired:
        raise FailedError(f"{variant}: it was not done after {_TIMEOUT_S} s.") from None
    return Run(result.returncode, result.stdout, result.stderr, folder)


def _run_well(
    technique: Technique, variant: str, simulate: str, flags: list[str], folder: Path
) -> Run:
    run = _run(technique, variant, simulate, flags, folder)
    if run.status != 0 and _PYTHONS_OWN_ABORT in run.err:
        run = _run(technique, variant, simulate, flags, folder)
    if variant in technique.dies:
        if run.status != 1 or "out of memory" not in run.err:
            raise FailedError(
                f"{variant}: it should run out of memory, and ended with {run.status}."
            )
    elif run.status != 0:
        lines = [line for line in run.err.splitlines() if line and not line.startswith("  ")]
        said = [line for line in lines if not line.startswith("vramstow: SIMULATED RUN")]
        # The first error is the cause; ranks and torchrun report further errors because of it.
        last = next((line for line in said if "Error: " in line), (said or ["nothing"])[-1])
        raise FailedError(f"{variant}: exit status {run.status}; it said: {last[:200]}")
    elif len(run.counted()) != technique.ranks:
        raise FailedError(f"{variant}: it did not say what it counted.")
    return run


def _device_used(analysis: Facts) -> int | None:
    """Returns the peak of the device memory in use, including the context; None if the run did not
    measure it."""
    used = []
    for device in analysis["devices"]:
        seen = [device["lowest_free_bytes"]]
        if device["free_bytes_at_start"] is not None:
            seen.append(device["free_bytes_at_start"] - device["peak_reserved_bytes"])
        lowest = [free for free in seen if free is not None]
        if lowest:
            used.append(device["total_bytes"] - min(lowest))
    return max(used, default=None)


def _as_it_comes(run: Run) -> Facts:
    ranks = run.analyses()
    counted = run.counted()
    kinds = [kind for rank in ranks for kind in rank["by_kind"]]
    calls = sum(one["allocations"] for one in kinds if one["kind"] in ("device", "physical"))
    return {
        "reserved_bytes": max(rank["peak"]["reserved_bytes"] for rank in ranks),
        "device_used_bytes": max(filter(None, map(_device_used, ranks)), default=None),
        "device_allocations": calls,
        "pinned_bytes": max(rank["peak"]["host_pinned_bytes"] for rank in ranks),
        "host_bytes": max((one["host_peak_bytes"] for one in counted), default=None),
        "torch_allocated_bytes": max(
            (one["torch_peak_allocated_bytes"] for one in counted), default=None
        ),
    }


def _sites(by_site: list[Facts]) -> dict[str, dict[str, int]]:
    """Returns the bytes at the peak by operator and source line, for those with at least a MiB."""
    sites: dict[str, dict[str, int]] = {}
    for one in by_site:
        if one["bytes_at_peak"] >= 1 << 20:
            lines = sites.setdefault(one["operation"], {})
            lines[one["site"]] = lines.get(one["site"], 0) + one["bytes_at_peak"]
    return sites


def _with_pool(run: Run) -> Facts:
    ranks = run.analyses()
    top = max(ranks, key=lambda rank: rank["peak"]["allocated_bytes"])
    steps = [step["begin_bytes"] for step in top["iterations"]]
    return {
        "allocated_bytes": top["peak"]["allocated_bytes"],
        "pool_reserved_bytes": max(rank["peak"]["reserved_bytes"] for rank in ranks),
        "died": run.status != 0,
        "between_steps_bytes": steps[-1] if top["iterations_found"]["by"] == "marks" else None,
        "at_end_bytes": top["leaks"]["device_bytes"],
        "offloaded_bytes": top["offload"]["out_bytes"],
        # Use the traces of the ranks only: torchrun, which started them, also wrote a trace.
        "ranks_allocated_bytes": [
            rank["peak"]["allocated_bytes"] for rank in ranks if rank["process"]["rank"] is not None
        ],
        "categories": {one["category"]: one["bytes_at_peak"] for one in top["by_category"]},
        "sites": _sites(top["by_site"]),
        "advice": [
            {key: one[key] for key in ("id", "bytes", "evidence", "action")}
            for one in top["advice"]
        ],
    }


def collect(
    technique: Technique, variant: str, simulate: str, traces: Path, quick: bool = False
) -> Facts:
    """Runs a variant and returns its facts; if `quick`, only with the pool. Raises FailedError."""
    folder = traces / technique.name / variant
    own = technique.flags.get(variant)
    if own is not None:
        flags = flags_of(technique, variant, simulate)
        run = _run_well(technique, variant, simulate, flags, folder)
        facts = _with_pool(run) | _as_it_comes(run) | _snapshot(folder)
        # With the pool the driver's figures do not apply, and without the pool the pool's do not.
        unseen = ("device_used_bytes", "device_allocations") if "--pool=on" in own else ()
        unseen += () if "--pool=on" in own else ("pool_reserved_bytes",)
        return facts | dict.fromkeys(unseen)
    facts: Facts = {}
    if not quick:
        run = _run_well(technique, variant, simulate, ["--pool=off"], folder / "plain")
        facts = _as_it_comes(run) | {"died": run.status != 0}
    if simulate:  # the pool is not measured on a real GPU
        flags = flags_of(technique, variant, simulate)
        facts |= _with_pool(_run_well(technique, variant, simulate, flags, folder / "pool"))
    return facts


def _report(out_of_memory: Facts) -> Facts:
    sizes = ("requested_bytes", "allocated_bytes", "largest_free_range_bytes")
    pool = {key: out_of_memory["pool"][key] for key in ("free_bytes", "free_ranges")}
    return {key: out_of_memory[key] for key in sizes} | {"pool": pool}


def _snapshot(folder: Path) -> Facts:
    """Returns the facts of the memory snapshot that the script wrote beside its trace."""
    snapshots = sorted(folder.glob("*.pickle"))
    if not snapshots:
        return {}
    found = _analyze(snapshots[0])
    state = found["snapshot"]
    return {
        "allocated_bytes": state["allocated_bytes"],
        "advice": [
            {key: one[key] for key in ("id", "bytes", "evidence", "action")}
            for one in found["advice"]
        ],
        "out_of_memory_report": next(map(_report, found["out_of_memory"]), None),
    }
