"""Runs techniques under vramstow, and writes docs/techniques.md from the results."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import NoReturn

from facts import KEPT, Facts, FailedError, collect, why_left_out
from page import render
from technique import ROOT, BadTechniqueError, Technique, every

PAGE = ROOT / "docs/techniques.md"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def refuse(sentence: str) -> NoReturn:
    say(f"examples/run techniques: {sentence}")
    sys.exit(2)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="examples/run techniques",
        description="Runs each technique of examples/techniques before and after, collects what "
        "vramstow's JSON says of it, and rewrites docs/techniques.md once each has figures. Exit "
        "status: 0; 1 if a technique failed (its row says so); 2 for wrong arguments.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="which ones; all, if none is named"
    )
    parser.add_argument(
        "--simulate", default="h200", metavar="CARD", help="the GPU to simulate; h200 by default"
    )
    parser.add_argument(
        "--real",
        action="store_true",
        help="on the GPU that is here; a technique that needs a small GPU is left out, unless the "
        "pool can be limited to that size",
    )
    parser.add_argument("--list", action="store_true", help="the techniques, with a line each")
    parser.add_argument(
        "--output",
        # examples/run leaves the folder in which a relative path was meant.
        type=lambda path: Path(os.environ.get("CALLED_FROM", ""), path),
        metavar="FOLDER",
        help="facts.json and techniques.md go there; docs/techniques.md stays as it is",
    )
    parser.add_argument("--quick", action="store_true", help="only the runs with the pool")
    parser.add_argument(
        "--page", action="store_true", help="write the page again from the last run's facts"
    )
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def choose(techniques: list[Technique], names: list[str]) -> list[Technique]:
    known = {technique.name: technique for technique in techniques}
    for name in names:
        if name not in known:
            refuse(f"there is no technique '{name}'; examples/run techniques --list names them.")
    return [known[name] for name in names] or techniques


def device_name() -> str:
    import torch

    return torch.cuda.get_device_name()


def measure(technique: Technique, simulate: str, traces: Path, quick: bool) -> Facts:
    if why := why_left_out(technique, simulate):
        return {"left_out": why}
    try:
        variants = {
            variant: collect(technique, variant, simulate, traces, quick)
            for variant in technique.variants
        }
    except FailedError as error:
        return {"failed": str(error)}
    return {"variants": variants}


def facts_path(output: Path | None) -> Path:
    return (output or KEPT) / "facts.json"


def write(techniques: list[Technique], facts: Facts, output: Path | None) -> None:
    """Writes the facts, and the page if it would show every technique.

    Facts of scripts that no longer exist are removed.
    """
    names = [technique.name for technique in techniques]
    kept = {name: facts["techniques"][name] for name in names if name in facts["techniques"]}
    facts = facts | {"techniques": kept}
    path = facts_path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    if output is not None:
        (output / PAGE.name).write_text(render(techniques, facts))
    elif len(kept) == len(techniques):
        PAGE.write_text(render(techniques, facts))


def refuse_beside_others(folder: Path) -> None:
    """Ends this run if another one uses the folder: each would take the other's traces."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        # The lock lasts until this process ends; what it starts does not inherit the descriptor.
        # setup/setup.sh takes the same lock.
        file = os.open(f"{folder}.lock", os.O_WRONLY | os.O_CREAT, 0o666)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(
            f"examples/run techniques: another run uses {folder}; start this one again when that "
            "has finished."
        )
        sys.exit(1)
    except OSError:
        return  # this file system has no such locks


def load(output: Path | None) -> Facts | None:
    """Returns the facts of earlier runs, or None if there are none."""
    path = facts_path(output)
    return json.loads(path.read_text()) if path.exists() else None


def run(
    techniques: list[Technique], chosen: list[Technique], facts: Facts, options: argparse.Namespace
) -> int:
    """Runs the chosen techniques, and returns how many failed. The page is written after each."""
    traces = (options.output or KEPT) / "techniques"
    refuse_beside_others(traces)
    failed = 0
    for number, technique in enumerate(chosen, 1):
        begin = time.monotonic()
        found = measure(technique, facts["simulate"], traces, options.quick)
        facts["techniques"][technique.name] = found
        failed += "failed" in found
        outcome = f"FAILED: {found['failed']}" if "failed" in found else "done"
        outcome = found.get("left_out", outcome)
        took = time.monotonic() - begin
        say(f"[{number}/{len(chosen)}] {technique.name}: {outcome} ({took:.0f} s)")
        write(techniques, facts, options.output)
    return failed


def main() -> None:
    options = parse_arguments()
    try:
        techniques = every()
    except BadTechniqueError as error:
        refuse(str(error))
    if options.list:
        for technique in techniques:
            print(f"{technique.name:22} {technique.group:18} {technique.title}")
        return
    chosen = choose(techniques, options.names)
    if options.check:
        return
    kept = load(options.output)
    if options.page:
        if kept is None:
            refuse(f"there is no {facts_path(options.output)}; run it without --page first.")
        write(techniques, kept, options.output)
        return
    if options.quick and (options.real or options.output is None):
        refuse(
            "--quick needs --output FOLDER, and no --real: half of the figures are missing, and "
            "docs/techniques.md has all of them."
        )
    facts: Facts = {"simulate": "" if options.real else options.simulate, "techniques": {}}
    # Facts of two different GPUs must not be mixed in one table.
    if kept is not None and kept["simulate"] == facts["simulate"]:
        facts = kept
    facts["device"] = device_name() if options.real else ""
    failed = run(techniques, chosen, facts, options)
    missing = [one.name for one in techniques if one.name not in facts["techniques"]]
    if missing and options.output is None:
        say(
            "examples/run techniques: docs/techniques.md stays as it is until these have figures, "
            f"too: {', '.join(missing)}."
        )
    if failed:
        say(f"examples/run techniques: {failed} of {len(chosen)} techniques failed.")
        sys.exit(1)


main()
