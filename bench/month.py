"""Compares the trace of a long job that keeps all events with one of limited size.

`month_trace` records both at once. Then `vramstow analyze --json` must report the same for both:
peaks, levels, totals, call sites, growth by the hour. Levels are sampled at fixed times since a
trace began, and the job records nothing around these times. On a busy machine the job may be
suspended between the two records of one event until such a time has passed: then the levels of a
site differ by one block, and its growth by as much (`leeway`). It also prints the sizes, the host
memory and the processor time.

    python bench/month.py [--events 1e7] [--live 10000] [--ring 16] [--seconds 310] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
SAME_ROWS = ("allocations", "total_bytes", "bytes_at_peak", "blocks_at_peak", "bytes_at_end")
MOST_SITES = 50  # the longest list of growth
BEGAN_APART = 3
STARTS = 20


def analyzed(trace: Path) -> dict[str, Any]:
    command = [BUILD / "bin/vramstow", "analyze", "--json", trace]
    facts = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return facts["traces"][0] if "traces" in facts else facts


def story(facts: dict[str, Any]) -> dict[str, Any]:
    """Returns the facts that must be equal."""
    peak = {key: value for key, value in facts["peak"].items() if isinstance(value, int)}
    peak = {key: value for key, value in peak.items() if not key.endswith(("time_ns", "sequence"))}
    return {
        "peak": peak,
        "counts": facts["counts"],
        "leaks": {key: value for key, value in facts["leaks"].items() if key != "groups"},
        "sites": [[row[key] for key in ("operation", *SAME_ROWS)] for row in facts["by_operation"]],
        "histogram": facts["histogram"],
    }


def leeway(facts: dict[str, Any]) -> float:
    """Returns how far two rates may differ: by a block at the first sample and at the last."""
    hours = facts["growth"]["over_ns"] / 3.6e12
    return 2 * facts["peak"]["largest_block_bytes"] / hours


def lowest_listed(growth: dict[str, Any]) -> float:
    """Returns the growth above which a site is certainly in the list."""
    rates = [row["bytes_per_hour"] for row in growth["by_site"]]
    return max(growth["bytes_per_hour"] / 100, rates[-1] if len(rates) >= MOST_SITES else 0)


def differing_growth(whole: dict[str, Any], bounded: dict[str, Any]) -> list[str]:
    growth = [facts["growth"] for facts in (whole, bounded)]
    if growth[0] is None or growth[1] is None:
        return ["growth is not known"] if growth[0] != growth[1] else []
    found = []
    if growth[0]["is_endless"] != growth[1]["is_endless"]:
        found.append("is_endless")
    near = max(leeway(facts) for facts in (whole, bounded))
    sites = [{row["operation"]: row["bytes_per_hour"] for row in one["by_site"]} for one in growth]
    for name in sorted(sites[0].keys() | sites[1].keys()):
        if name in sites[0] and name in sites[1]:
            if abs(sites[0][name] - sites[1][name]) > near:
                found.append(f"growth of {name}")
            continue
        listed, other = (0, 1) if name in sites[0] else (1, 0)
        if sites[listed][name] > lowest_listed(growth[other]) + near:
            found.append(f"{name} grows in one only")
    if abs(growth[0]["bytes_per_hour"] - growth[1]["bytes_per_hour"]) > near:
        found.append("growth")
    return found


def differences(whole: dict[str, Any], bounded: dict[str, Any]) -> list[str]:
    first, second = story(whole), story(bounded)
    found = [name for name in first if first[name] != second[name]]
    return [*found, *differing_growth(whole, bounded)]


def recorded(folder: Path, arguments: argparse.Namespace) -> int:
    """Records both traces. Returns how many KiB of host memory the bounded one has used."""
    words = [folder, int(arguments.events), arguments.live, arguments.ring << 20, arguments.seconds]
    command = [str(word) for word in (BUILD / "bin/month_trace", *words)]
    for _ in range(STARTS):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return int(done.stdout)
        if done.returncode != BEGAN_APART:
            raise SystemExit(f"month_trace failed: {done.returncode} {done.stderr}")
        for trace in folder.glob("*.stow"):
            trace.unlink()
    raise SystemExit(f"the traces did not begin together in {STARTS} starts: try a quieter machine")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=float, default=1e7)
    parser.add_argument("--live", type=int, default=10_000, help="live blocks")
    parser.add_argument("--ring", type=int, default=16, help="MiB of the bounded trace")
    parser.add_argument("--seconds", type=float, default=310, help="growth needs five minutes")
    parser.add_argument("--folder", type=Path, help="where the traces go: 5 bytes for each event")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        kibibytes = recorded(folder, arguments)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole, bounded = folder / "whole.stow", folder / "bounded.stow"
        sizes = [path.stat().st_size / 1e6 for path in (whole, bounded)]
        print(f"{arguments.events:.0e} events, {arguments.live:,} live, bound {arguments.ring} MiB")
        print(f"files: {sizes[0]:.1f} MB whole, {sizes[1]:.1f} MB bounded")
        print(f"memory of the host: {kibibytes / 1024:.1f} MiB")
        print(f"processor: {used.ru_utime + used.ru_stime:.1f} s for both, with the job")
        if bounded.stat().st_size > (arguments.ring + 1) << 20:
            print("the file has left its bound: the recorder's thread had too little time")
        facts = [analyzed(path) for path in (whole, bounded)]
        folded = facts[1]["input"]["report"]["folded_events"]
        print(f"events as sums: {folded:,}")
        if (growth := facts[1]["growth"]) is not None:
            print(f"growth: {growth['bytes_per_hour'] / (1 << 20):.2f} MiB an hour")
        found = differences(*facts)
        if found:
            raise SystemExit(f"the bounded trace says something else: {', '.join(found)}")
        print("both traces say the same")


if __name__ == "__main__":
    main()
