"""The results as one page: each goal beside what was seen."""

from __future__ import annotations


def page(results: dict) -> str:
    about = results["about"]
    lines = [
        f"# Acceptance on {about['card']}",
        "",
        f"vramstow {about['vramstow']}, {about['date']}, at most {about['memory_mib']} MiB.",
    ]
    if about["simulate"]:
        lines += [
            "",
            f"**This is a rehearsal of the kit on a simulated card ({about['simulate']}).**",
        ]
    lines += ["", "| step | goal | seen | | seconds |", "|---|---|---|---|---|"]
    for step in results["steps"]:
        verdict = "ok" if step["passed"] else "**no**"
        seen = step["seen"].replace("|", "/")
        lines.append(
            f"| {step['name']} | {step['goal']} | {seen} | {verdict} | {step['seconds']} |"
        )
    passed = sum(step["passed"] for step in results["steps"])
    lines += ["", f"{passed} of {len(results['steps'])} steps reached their goals."]
    return "\n".join(lines) + "\n"
