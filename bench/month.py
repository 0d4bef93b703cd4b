"""A job that is left on: the same events in a bounded trace and in one that has all of them.

`month_trace` records both at once. Then `vramstow analyze --json` has to say the same of both:
peaks, levels, totals, call sites, growth by the hour. Growth and times may differ by what happens
between the two records of one event. Told are also the sizes, the memory of the host and the
processor time.

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
NEAR = 0.001


def analyzed(trace: Path) -> dict[str, Any]:
    command = [BUILD / "bin/vramstow", "analyze", "--json", trace]
    facts = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return facts["traces"][0] if "traces" in facts else facts


def story(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts that must be equal."""
    peak = {key: value for key, value in facts["peak"].items() if isinstance(value, int)}
    peak = {key: value for key, value in peak.items() if not key.endswith(("time_ns", "sequence"))}
    return {
        "peak": peak,
        "counts": facts["counts"],
        "leaks": {key: value for key, value in facts["leaks"].items() if key != "groups"},
        "sites": [[row[key] for key in ("operation", *SAME_ROWS)] for row in facts["by_operation"]],
        "histogram": facts["histogram"],
    }


def is_near(one: float, other: float) -> bool:
    return abs(one - other) <= NEAR * max(abs(one), abs(other))


def differences(whole: dict[str, Any], bounded: dict[str, Any]) -> list[str]:
    first, second = story(whole), story(bounded)
    found = [name for name in first if first[name] != second[name]]
    growth = [facts["growth"] for facts in (whole, bounded)]
    if growth[0] is None or growth[1] is None:
        return [*found, "growth is not known"] if growth[0] != growth[1] else found
    if growth[0]["is_endless"] != growth[1]["is_endless"]:
        found.append("is_endless")
    sites = [{row["operation"]: row["bytes_per_hour"] for row in one["by_site"]} for one in growth]
    if sites[0].keys() != sites[1].keys():
        found.append("sites that grow")
    elif not all(is_near(rate, sites[1][name]) for name, rate in sites[0].items()):
        found.append("growth of sites")
    if not is_near(growth[0]["bytes_per_hour"], growth[1]["bytes_per_hour"]):
        found.append("growth")
    return found


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
        events = int(arguments.events)
        words = [folder, events, arguments.live, arguments.ring << 20, arguments.seconds]
        command = [str(word) for word in (BUILD / "bin/month_trace", *words)]
        recorded = subprocess.run(command, check=True, capture_output=True, text=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole, bounded = folder / "whole.stow", folder / "bounded.stow"
        sizes = [path.stat().st_size / 1e6 for path in (whole, bounded)]
        print(f"{events:.0e} events, {arguments.live:,} live, a bound of {arguments.ring} MiB")
        print(f"files: {sizes[0]:.1f} MB whole, {sizes[1]:.1f} MB bounded")
        print(f"memory of the host: {int(recorded.stdout) / 1024:.1f} MiB")
        print(f"processor: {used.ru_utime + used.ru_stime:.1f} s for both, with the job")
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
