"""Golden behaviour: what the code does with fixed inputs, as one digest each.

python tests/golden/golden.py write FOLDER [SECTION ...]        the outputs themselves
python tests/golden/golden.py compare OTHER_BUILD [SECTION ...]  outputs of two builds, and where
                                                                 they differ
python tests/golden/golden.py renew [SECTION ...]               new digests, on purpose

The build is $VRAMSTOW_BUILD, or build/ in this tree. README.md says which section shows what.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIGESTS = Path(__file__).parent / "digests"
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
CORPUS = Path(os.environ.get("VRAMSTOW_CORPUS", ROOT.parent / "shared/corpus")).resolve()

# The output of a section: pairs of a name and a text. The first argument is the build folder, the
# second an empty working folder.
Outputs = Iterator[tuple[str, str]]
Section = Callable[[Path, Path], Outputs]


class NotHereError(Exception):
    """Raised if a section needs something that this machine lacks; the text names it."""


def corpus() -> Path:
    if not CORPUS.is_dir():
        raise NotHereError("no corpus: neither VRAMSTOW_CORPUS nor ../shared/corpus is a folder")
    return CORPUS


def sections() -> dict[str, Section]:
    import adapter_outputs
    import analysis_outputs
    import interposer_outputs
    import pool_outputs

    return {
        **pool_outputs.SECTIONS,
        **analysis_outputs.SECTIONS,
        **interposer_outputs.SECTIONS,
        **adapter_outputs.SECTIONS,
    }


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def outputs(section: str, build: Path) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="vramstow-golden-") as folder:
        return dict(sections()[section](build.resolve(), Path(folder)))


def committed(section: str) -> dict[str, str]:
    lines = (DIGESTS / f"{section}.txt").read_text().splitlines()
    return {name: value for value, name in (line.split("  ", 1) for line in lines)}


def renew(section: str) -> None:
    found = outputs(section, BUILD)
    lines = [f"{digest(text)}  {name}\n" for name, text in sorted(found.items())]
    (DIGESTS / f"{section}.txt").write_text("".join(lines))


def write(section: str, build: Path, folder: Path) -> dict[str, str]:
    found = outputs(section, build)
    for name, text in found.items():
        path = folder / section / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return found


def differing(section: str) -> str:
    """Returns a message about the outputs whose digests differ; empty if none does."""
    expected = committed(section)
    found = {name: digest(text) for name, text in outputs(section, BUILD).items()}
    names = sorted(
        name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
    )
    if not names:
        return ""
    return (
        f"{section}: {len(names)} of {len(expected)} outputs are not as they were: "
        f"{', '.join(names[:10])}{', …' if len(names) > 10 else ''}\n"
        "To see how, build the code before in a worktree of its own, and:\n"
        f"  python tests/golden/golden.py compare OTHER_BUILD {section}\n"
        "If that is what was wanted:\n"
        f"  python tests/golden/golden.py renew {section}"
    )


def compare(section: str, other: Path, folder: Path) -> int:
    """Writes outputs of both builds and shows the first differences; returns how many differ."""
    before = write(section, other, folder / "before")
    after = write(section, BUILD, folder / "after")
    names = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
    for name in names:
        print(f"{section}: {name} differs")
    for name in names[:3]:
        lines = difflib.unified_diff(
            before.get(name, "").splitlines(),
            after.get(name, "").splitlines(),
            f"before/{section}/{name}",
            f"after/{section}/{name}",
            lineterm="",
        )
        print("\n".join(line[:300] for line, _ in zip(lines, range(40), strict=False)))
    return len(names)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["write", "compare", "renew"])
    parser.add_argument("place", nargs="?", help="FOLDER, OTHER_BUILD or the first SECTION")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections()))
    arguments = parser.parse_args()
    chosen = arguments.sections
    if arguments.command == "renew" and arguments.place is not None:
        chosen = [arguments.place, *chosen]
    elif arguments.command != "renew" and arguments.place is None:
        parser.error(f"{arguments.command} needs a folder")
    for section in chosen:
        if section not in sections():
            parser.error(f"no section is called {section}: there are {', '.join(sections())}")
    kept = Path(tempfile.mkdtemp(prefix="vramstow-golden-"))
    status = 0
    for section in chosen or sections():
        try:
            if arguments.command == "renew":
                renew(section)
                print(f"{section}: renewed")
            elif arguments.command == "write":
                count = len(write(section, BUILD, Path(arguments.place)))
                print(f"{section}: {count} outputs in {arguments.place}/{section}")
            elif compare(section, Path(arguments.place), kept):
                status = 1
            else:
                print(f"{section}: equal")
        except NotHereError as reason:
            print(f"{section}: left out, {reason}")
    if arguments.command == "compare":
        print(f"all outputs: diff -r {kept}/before {kept}/after")
    else:
        kept.rmdir()
    return status


if __name__ == "__main__":
    sys.exit(main())
