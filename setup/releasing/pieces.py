"""The pieces of a release, as setup/release-pieces.txt lists them."""

from __future__ import annotations

import configparser
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "setup/release-pieces.txt"
KEYS = {"shows", "command", "minutes", "needs", "each", "absent"}
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


class PiecesError(Exception):
    """The list of pieces is wrong; the text is a whole sentence."""


@dataclass(frozen=True)
class Piece:
    name: str
    shows: str  # what is shown if it passes
    command: str  # for bash; with {folder}, {temporary} and {before}
    minutes: int  # about how long it takes on two cores
    needs: tuple[str, ...] = ()  # pieces that must have passed on the commit
    absent: str = ""  # why there is nothing to run; then `command` is empty


def torch_releases() -> list[tuple[str, str]]:
    """Returns a name and the argument of tests/run --torch for each row of the list."""
    lines = (ROOT / "setup/torch-releases.txt").read_text().splitlines()
    rows = [words for line in lines if (words := line.partition("#")[0].split())]
    return [(f"{words[0]}-python{words[1]}", f"{words[0]}@{words[1]}") for words in rows]


def clients() -> list[tuple[str, str]]:
    return [(file.stem, file.stem) for file in sorted((ROOT / "setup/clients").glob("*.txt"))]


EACH = {"torch-release": torch_releases, "client": clients}


def of_section(name: str, section: configparser.SectionProxy, file: Path) -> list[Piece]:
    def wrong(what: str) -> PiecesError:
        return PiecesError(f"The piece '{name}' of {file} {what}.")

    if not NAME.fullmatch(name):
        raise wrong("has a name with other signs than letters, digits, '.', '_' and '-'")
    unknown = sorted(set(section) - KEYS)
    if unknown:
        raise wrong(f"has the unknown key '{unknown[0]}'")
    shows, command, absent = (section.get(key, "") for key in ("shows", "command", "absent"))
    if not shows or bool(command) == bool(absent):
        raise wrong("needs the key 'shows', and either 'command' or 'absent'")
    minutes = section.get("minutes", "0")
    if not minutes.isdecimal() or (command and int(minutes) == 0):
        raise wrong("needs a whole number of minutes above 0")
    if absent and "each" in section:
        raise wrong("is absent, so that it cannot be one for each of several")
    needs = tuple(section.get("needs", "").split())
    if "each" not in section:
        return [Piece(name, " ".join(shows.split()), command, int(minutes), needs, absent)]
    if section["each"] not in EACH:
        raise wrong(f"is for each '{section['each']}', which is unknown")
    return [
        Piece(
            f"{name}-{own}",
            " ".join(shows.split()).replace("{name}", argument),
            command.replace("{name}", argument),
            int(minutes),
            needs,
        )
        for own, argument in EACH[section["each"]]()
    ]


def read_pieces(file: Path) -> list[Piece]:
    """Returns the pieces in the order in which they run. Raises PiecesError if the list is
    wrong."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), default_section="")
    try:
        parser.read_string(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise PiecesError(f"The list of pieces {file} cannot be read: {error}.") from error
    except configparser.Error as error:
        what = str(error).replace("\n", " ")
        raise PiecesError(f"The list of pieces {file} is broken: {what}.") from error
    pieces: list[Piece] = []
    for name in parser.sections():
        pieces += of_section(name, parser[name], file)
    if not pieces:
        raise PiecesError(f"The list of pieces {file} has no piece.")
    before: set[str] = set()
    for piece in pieces:
        late = [need for need in piece.needs if need not in before]
        if late:
            raise PiecesError(
                f"The piece '{piece.name}' of {file} needs '{late[0]}', which must come before it."
            )
        before.add(piece.name)
    return pieces


def choose(pieces: list[Piece], names: list[str]) -> list[Piece]:
    """Returns the pieces with these names, in the order of the list; PREFIX* names each whose name
    begins so. Raises PiecesError if there is none."""
    chosen = []
    for name in names:
        prefix = name[:-1] if name.endswith("*") else None
        fitting = [
            piece
            for piece in pieces
            if piece.name == name or (prefix is not None and piece.name.startswith(prefix))
        ]
        if not fitting:
            raise PiecesError(f"There is no piece '{name}'; setup/release --list has all of them.")
        chosen += fitting
    return [piece for piece in pieces if piece in chosen]
