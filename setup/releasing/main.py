"""The command setup/release."""

from __future__ import annotations

import argparse
import fcntl
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from ledger import ENDED, INTERRUPTED, Ledger, LedgerError, Record
from page import duration, result_of, state_of, written
from pieces import LIST, ROOT, Piece, PiecesError, choose, read_pieces
from runner import Interrupted, Place, run_piece, still_runs

PAGE = Path("docs/release.md")
KEPT = Path("docs/release-results.jsonl")
# Commands of pieces rewrite these pages, and each of them is about what was run.
MADE_PAGES = {str(PAGE), str(KEPT), "docs/clients.md", "docs/compatibility.md"}
RESULTS = Path("build-release")

HELP = """Runs everything that the pages promise on the commit that is checked out, piece by piece,
and records each result in build-release/ledger.jsonl. --page keeps the last result of each piece in
docs/release-results.jsonl, which is part of the tree.

Without PIECE all pieces run that have not passed on this commit: those that did not run, were
interrupted, or failed. A PIECE that is named runs in any case; a name that ends with * stands for
all that begin so, as in 'torch-*'. A piece takes up to about an hour on two cores, and its log lies
below build-release/."""
EPILOG = """The tree must have no changes, except in docs/release.md, docs/release-results.jsonl,
docs/clients.md and docs/compatibility.md, which pieces and --page write. After Ctrl-C or kill the
same command goes on where it was; the interrupted piece runs again.

Exit status: 0 if all pieces that were to run passed, 1 if one did not pass or something could not
be read or written, 2 for wrong arguments, 128 + N after signal N."""


class Refused(Exception):
    """The command cannot do what was asked; the text is a whole sentence."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sentence = message[0].upper() + message[1:]
        self.exit(2, f"setup/release: {sentence}; see setup/release --help.\n")


def say(text: str) -> None:
    print(f"setup/release: {text}", file=sys.stderr, flush=True)


def parse() -> argparse.Namespace:
    parser = Parser(
        prog="setup/release",
        description=HELP,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("piece", nargs="*", metavar="PIECE", help="runs only these pieces")
    parser.add_argument(
        "--continue",
        dest="goes_on",
        action="store_true",
        help="leaves out pieces that ended on this commit, also those that failed",
    )
    parser.add_argument(
        "--list", action="store_true", help="lists the pieces, how long they take, and their state"
    )
    parser.add_argument(
        "--page",
        action="store_true",
        help="writes docs/release.md and docs/release-results.jsonl; runs nothing",
    )
    parser.add_argument(
        "--commit", metavar="COMMIT", help="with --list or --page: of this commit, not of HEAD"
    )
    parser.add_argument(
        "--before",
        type=Path,
        metavar="TREE",
        help="the built tree of the last release, beside which benchmarks measure",
    )
    parser.add_argument(
        "--pieces",
        type=Path,
        default=LIST,
        metavar="FILE",
        help="another list in the form of setup/release-pieces.txt, such as one of a fork",
    )
    arguments = parser.parse_args()
    if arguments.list and arguments.page:
        parser.error("--list and --page cannot be given together")
    if arguments.commit and not (arguments.list or arguments.page):
        parser.error("--commit needs --list or --page, because only HEAD can be run")
    if arguments.list and arguments.goes_on:
        parser.error("--continue runs pieces, and --list runs none")
    if arguments.page and (arguments.piece or arguments.goes_on):
        parser.error("--page writes about all pieces and runs none")
    if arguments.before and not (arguments.before / "build").is_dir():
        parser.error(f"--before {arguments.before} has no folder build/")
    return arguments


def git(tree: Path, *arguments: str) -> str:
    """Raises Refused with the last line of git's own message."""
    try:
        ran = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=tree,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise Refused(f"git cannot be run: {error.strerror}.") from error
    if ran.returncode != 0:
        lines = ran.stderr.strip().splitlines() or ["it gave no reason"]
        raise Refused(f"git {arguments[0]} failed: {lines[-1]}.")
    return ran.stdout


def commit_of(tree: Path, name: str) -> str:
    """Raises PiecesError if no commit has this name, and Refused if the tree is no checkout."""
    if git(tree, "rev-parse", "--show-prefix").strip():
        raise Refused(f"{tree} is no checkout of its own, so that no commit is known.")
    try:
        return git(tree, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").strip()
    except Refused as error:
        if name == "HEAD":
            raise
        raise PiecesError(f"There is no commit '{name}'.") from error


def history_of(tree: Path, commit: str) -> list[str]:
    """Returns the commit and those before it, the nearest first."""
    return git(tree, "rev-list", commit).split()


def changed_files(tree: Path) -> list[str]:
    """Returns the changed and the new files, except pages that pieces write."""
    entries = git(tree, "status", "--porcelain", "--no-renames", "-uall", "-z").split("\0")
    return [entry[3:] for entry in entries if entry and entry[3:] not in MADE_PAGES]


def check_tree(tree: Path, commit: str, when: str = "") -> None:
    """Raises Refused unless the tree is that of the commit."""
    if commit_of(tree, "HEAD") != commit:
        raise Refused(f"Another commit was checked out{when}; what runs now would not be about it.")
    changed = changed_files(tree)
    if changed:
        others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise Refused(
            f"The tree has changes{when} ({changed[0]}{others}), and a result is about a commit: "
            "commit them or put them aside first."
        )


def show_list(pieces: list[Piece], ledger: Ledger, commit: str, history: list[str]) -> None:
    latest, seconds = ledger.latest(commit, pieces), ledger.seconds()
    earlier = ledger.earlier(history, pieces)
    width = max(len(piece.name) for piece in pieces)
    print(f"commit {commit}")
    for piece in pieces:
        if piece.absent:
            time, state = "", f"not there: {piece.absent}"
        else:
            time = duration(seconds.get(piece.name, 60 * piece.minutes))
            state = state_of(latest.get(piece.name), earlier.get(piece.name))
            if piece.name not in seconds:
                time = f"~{time}"
        print(f"{piece.name:{width}}  {time:>10}  {state}")
        print(f"{'':{width}}  {'':10}  {piece.shows}")
    left = [
        seconds.get(piece.name, 60 * piece.minutes)
        for piece in pieces
        if not piece.absent and not is_green(latest, piece.name)
    ]
    have = "piece has" if len(left) == 1 else "pieces have"
    print(f"{len(left)} {have} not passed; together about {sum(left) / 3600:.0f} hours of work.")


def is_green(latest: dict[str, Record], name: str) -> bool:
    return name in latest and latest[name].is_green


def is_wanted(piece: Piece, latest: dict[str, Record], arguments: argparse.Namespace) -> bool:
    if piece.absent:
        return False
    record = latest.get(piece.name)
    if arguments.goes_on:
        return record is None or record.state != ENDED
    return bool(arguments.piece) or not is_green(latest, piece.name)


def why_not(piece: Piece, latest: dict[str, Record], place: Place) -> str | None:
    """Returns why the piece cannot run now, or None if it can."""
    lacking = [need for need in piece.needs if not is_green(latest, need)]
    if lacking:
        return f"it needs {lacking[0]}, which has not passed on this commit"
    if "{before}" in piece.command and place.before is None:
        return "it compares with the last release, whose tree --before names"
    return None


def run_all(wanted: list[Piece], pieces: list[Piece], place: Place, ledger: Ledger) -> bool:
    """Returns whether each of them passed. Raises Refused if the tree changes meanwhile."""
    not_passed = []
    for piece in wanted:
        reason = why_not(piece, ledger.latest(place.commit, pieces), place)
        if reason is not None:
            say(f"{piece.name} does not run: {reason}.")
            not_passed.append(piece.name)
            continue
        check_tree(place.tree, place.commit)
        logs = place.folder / "logs"
        say(f"{piece.name} begins and takes about {piece.minutes} min; its log is in {logs}.")
        record = run_piece(piece, place, ledger)
        try:
            check_tree(place.tree, place.commit, f" while {piece.name} ran")
        except Refused:
            ledger.put(replace(record, state=INTERRUPTED))  # it was not seen on this commit
            raise
        say(f"{piece.name}: {result_of(record)}, {duration(record.seconds)}.")
        if not record.is_green:
            not_passed.append(piece.name)
            for line in record.last_lines:
                print(f"    {line}", file=sys.stderr)
    if not_passed:
        say(f"{len(not_passed)} of {len(wanted)} pieces did not pass: {', '.join(not_passed)}.")
    else:
        say("Each piece that was to run passed.")
    return not not_passed


def write_page(pieces: list[Piece], ledger: Ledger, commit: str, tree: Path) -> None:
    """Writes docs/release.md, and the file that keeps what it says for other clones."""
    earlier = ledger.earlier(history_of(tree, commit), pieces)
    text = written(pieces, ledger.latest(commit, pieces), earlier, commit)
    (tree / KEPT).write_text(ledger.kept_text(), encoding="utf-8")
    (tree / PAGE).write_text(text, encoding="utf-8")


def perform(arguments: argparse.Namespace, tree: Path) -> int:
    pieces = read_pieces(arguments.pieces)
    chosen = choose(pieces, arguments.piece) if arguments.piece else pieces
    commit = commit_of(tree, arguments.commit or "HEAD")
    results = tree / RESULTS
    file = results / "ledger.jsonl"
    if arguments.list:
        show_list(chosen, Ledger(file, tree / KEPT), commit, history_of(tree, commit))
        return 0
    if arguments.page:
        write_page(pieces, Ledger(file, tree / KEPT), commit, tree)
        return 0
    check_tree(tree, commit)
    results.mkdir(exist_ok=True)
    with (results / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refused(
                "Another setup/release runs in this tree; wait until it has ended."
            ) from error
        ledger = Ledger(file, tree / KEPT)
        for record in ledger.begun():
            if still_runs(record):
                raise Refused(
                    f"Processes of the piece {record.piece}, whose setup/release was killed, "
                    f"still run: 'kill -- -{record.process}' ends them."
                )
        latest = ledger.latest(commit, pieces)
        before = arguments.before.resolve() if arguments.before else None
        place = Place(tree, commit, results, before)
        wanted = [piece for piece in chosen if is_wanted(piece, latest, arguments)]
        if not wanted:
            say("Nothing is left to run on this commit; setup/release --list shows the results.")
            return 0
        return 0 if run_all(wanted, pieces, place, ledger) else 1


def main() -> int:
    arguments = parse()
    try:
        return perform(arguments, ROOT)
    except (Refused, LedgerError, PiecesError) as error:
        say(str(error))
        return 2 if isinstance(error, PiecesError) else 1
    except BrokenPipeError:
        sys.stdout = None  # whoever read the list has seen enough
        return 1
    except OSError as error:
        say(f"{error.filename or RESULTS} cannot be read or written: {error.strerror}.")
        return 1
    except Interrupted as interruption:
        say("It was interrupted; the same command goes on with the interrupted piece.")
        return 128 + interruption.number
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
