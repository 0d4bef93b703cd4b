"""Writes the results as one page: each goal with its proof."""

from __future__ import annotations

from kit.outcome import FAILED, NOTHING, OK

MARKS = {OK: "ok", FAILED: "**no**", NOTHING: "*nothing shown*"}


def known(about: dict, name: str) -> str:
    return str(about.get(name) or "unknown")


def head(about: dict) -> list[str]:
    gib = about.get("total_bytes", 0) / (1 << 30)
    capability = known(about, "compute_capability")
    lines = [
        f"# Acceptance on {known(about, 'card')}",
        "",
        "| | |",
        "|---|---|",
        f"| card | {known(about, 'card')}, {gib:.1f} GiB, compute capability {capability} |",
        f"| driver | {known(about, 'driver')}, for CUDA {known(about, 'driver_cuda')} |",
        f"| PyTorch | {known(about, 'torch')} with CUDA {known(about, 'torch_cuda')},"
        f" Python {known(about, 'python')} |",
        f"| system | {known(about, 'system')}, {known(about, 'processors')} processors |",
        f"| vramstow | {known(about, 'vramstow')}, at most {about['memory_mib']} MiB |",
        f"| date | {about['date']} |",
        f"| total time | {about['seconds']:.0f} s of at most {about['minutes'] * 60:.0f} s |",
    ]
    if about["simulate"]:
        lines += [
            "",
            f"**This is a rehearsal of the kit on a simulated card ({about['simulate']}).**",
        ]
    if about.get("stopped"):
        lines += ["", f"**Stopped: {about['stopped']}.**"]
    elif about.get("at_work"):
        lines += ["", f"**Not ended: at work on {about['at_work']}.**"]
    return lines


def page(results: dict) -> str:
    steps = results["steps"]
    lines = head(results["about"])
    lines += ["", "| step | goal | proved | | seconds |", "|---|---|---|---|---|"]
    for step in steps:
        seen = step["seen"].replace("|", "/").replace("\n", " ")
        mark = MARKS[step["outcome"]]
        lines.append(f"| {step['name']} | {step['goal']} | {seen} | {mark} | {step['seconds']} |")
    counts = {outcome: sum(step["outcome"] == outcome for step in steps) for outcome in MARKS}
    total = results["about"]["steps"]
    lines += [
        "",
        f"{counts[OK]} of {total} steps reached their goals, {counts[FAILED]} did not,"
        f" {counts[NOTHING]} showed nothing, {total - len(steps)} were not begun.",
    ]
    lines += [f"The log of {step['name']}: {step['log']}" for step in steps if "log" in step]
    return "\n".join(lines) + "\n"
