"""Runs techniques under vramstow, keeps their facts, and writes docs/techniques.md from them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from facts import BUILD, Facts, FailedError, collect
from page import render
from technique import ROOT, SCRIPTS, BadTechniqueError, Technique, every

FACTS = SCRIPTS / "facts.json"
PAGE = ROOT / "docs/techniques.md"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="examples/run techniques",
        description="Runs each technique of examples/techniques before and after, collects what "
        "vramstow's JSON says of it, and rewrites docs/techniques.md. Exit status: 0; 1 if a "
        "technique failed (its row says so); 2 for wrong arguments.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="which ones; all, if none is named"
    )
    parser.add_argument(
        "--simulate", default="h200", metavar="CARD", help="the card to rehearse on"
    )
    parser.add_argument("--real", action="store_true", help="on the card that is here")
    parser.add_argument("--list", action="store_true", help="the techniques, with a line each")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="facts.json and techniques.md go there instead",
    )
    parser.add_argument("--quick", action="store_true", help="only the runs with the pool")
    parser.add_argument(
        "--page", action="store_true", help="run nothing: only write the page again"
    )
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def choose(techniques: list[Technique], names: list[str]) -> list[Technique]:
    known = {technique.name: technique for technique in techniques}
    for name in names:
        if name not in known:
            say(
                f"examples/run techniques: there is no technique '{name}'; "
                "examples/run techniques --list names them."
            )
            sys.exit(2)
    return [known[name] for name in names] or techniques


def device_name() -> str:
    import torch

    return torch.cuda.get_device_name()


def measure(technique: Technique, simulate: str, traces: Path, quick: bool) -> Facts:
    try:
        variants = {
            variant: collect(technique, variant, simulate, traces, quick)
            for variant in technique.variants
        }
    except FailedError as error:
        return {"failed": str(error)}
    return {"variants": variants}


def write(techniques: list[Technique], facts: Facts, output: Path | None) -> None:
    """Removes the facts of scripts that no longer exist."""
    names = [technique.name for technique in techniques]
    kept = {name: facts["techniques"][name] for name in names if name in facts["techniques"]}
    facts = facts | {"techniques": kept}
    facts_path, page_path = FACTS, PAGE
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        facts_path, page_path = output / FACTS.name, output / PAGE.name
    facts_path.write_text(json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    page_path.write_text(render(techniques, facts))


def main() -> None:
    arguments = parse_arguments()
    try:
        techniques = every()
    except BadTechniqueError as error:
        say(f"examples/run techniques: {error}")
        sys.exit(2)
    if arguments.list:
        for technique in techniques:
            print(f"{technique.name:22} {technique.group:18} {technique.title}")
        return
    chosen = choose(techniques, arguments.names)
    if arguments.check:
        return
    simulate = "" if arguments.real else arguments.simulate
    facts: Facts = {"simulate": simulate, "device": "", "techniques": {}}
    source = FACTS if arguments.output is None else arguments.output / FACTS.name
    if source.exists():
        kept = json.loads(source.read_text())
        # Facts of two different GPUs must not be mixed in one table.
        if arguments.page or kept["simulate"] == simulate:
            facts = kept
    if arguments.page:
        write(techniques, facts, arguments.output)
        return
    if arguments.quick and (arguments.real or arguments.output is None):
        say(
            "examples/run techniques: --quick needs --output FOLDER, and no --real: half of the "
            "figures are missing, and docs/techniques.md has all of them."
        )
        sys.exit(2)
    if arguments.real:
        facts["device"] = device_name()
    # If two calls ran at the same time, each would take the other's traces.
    traces = (arguments.output or BUILD / "examples") / "techniques"
    failed = 0
    for number, technique in enumerate(chosen, 1):
        begin = time.monotonic()
        found = measure(technique, simulate, traces, arguments.quick)
        facts["techniques"][technique.name] = found
        failed += "failed" in found
        outcome = f"FAILED: {found['failed']}" if "failed" in found else "done"
        took = time.monotonic() - begin
        say(f"[{number}/{len(chosen)}] {technique.name}: {outcome} ({took:.0f} s)")
        write(techniques, facts, arguments.output)
    if failed:
        say(f"examples/run techniques: {failed} of {len(chosen)} techniques failed.")
        sys.exit(1)


main()
