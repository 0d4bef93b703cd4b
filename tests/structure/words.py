"""Plain words: finds sentences that begin or go on in a way that stops a reader.

python tests/structure/words.py lists them, with the share of the sentences for each kind of text.
python tests/structure/words.py --comments FOLDER… lists those of comments in these folders.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tree

# A sentence begins with its subject: the actor, not "Of…" or a clause in its place. A question may
# begin so.
BEGINNING = re.compile(r"[\"'(*_]*(?:Of|Who|Whom|Whose|Whoever|What|Whatever)\b")
# Phrases that make a reader search backwards, or that name nothing.
PHRASE = re.compile(
    r"\b(?:such as|so many|its like|their like|that of|those of which|of which those)\b",
    re.IGNORECASE,
)
# Folders whose strings a user sees.
SPOKEN = ("interpose/", "python/", "tools/")
# Titles of sections and tables. They ask a question without a question mark, and they are not
# sentences.
TITLES = frozenset(
    (
        "What grew since last week",
        "What is missing",
        "What it is for, at the peak",
        "What will work",
        "Who wastes most",
    )
)
TITLE_BEGINNINGS = ("*What is missing*", "***What is missing*", "What is missing:", "What rank ")
SOURCES = {".cc", ".h", ".c", ".def", ".js", ".py"}

SENTENCE_END = re.compile(r"(?<=[.!?:])[\")*_]*\s+(?=[\"'(*_`]*[A-Z`0-9])")
# Comments, raw strings, strings and characters of C++ and JavaScript, in the order of the text.
TOKEN = re.compile(
    r"(?P<line>//[^\n]*)"
    r"|(?P<block>/\*.*?\*/)"
    r"|R\"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)\""
    r"|\"(?P<text>(?:[^\"\\\n]|\\.)*)\""
    r"|(?P<quoted>(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)*')"
    r"|`(?P<template>(?:[^`\\]|\\.)*)`",
    re.DOTALL,
)


@dataclass(frozen=True)
class Piece:
    """A paragraph, an item, a cell, a string or a comment, and the line where it begins."""

    line: int
    text: str


@dataclass(frozen=True)
class Found:
    path: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{tree.relative(self.path)}:{self.line}: {self.sentence}"


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text; a text of fewer than two words is no sentence."""
    parts = SENTENCE_END.split(" ".join(text.split()))
    return [part for part in parts if len(re.findall(r"[A-Za-z]{2,}", part)) >= 2]


def stops(sentence: str) -> bool:
    if PHRASE.search(sentence):
        return True
    if sentence in TITLES or sentence.startswith(TITLE_BEGINNINGS):
        return False
    return bool(BEGINNING.match(sentence)) and not sentence.rstrip("\"')*_").endswith("?")


def of_page(text: str) -> Iterator[Piece]:
    """Returns the paragraphs, items and cells of a page, without its code and its headings."""
    fenced = False
    begin = 0
    lines: list[str] = []

    def finish() -> Iterator[Piece]:
        if lines:
            yield Piece(begin, re.sub(r"`[^`]*`", "`code`", " ".join(lines)))
            lines.clear()

    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
            yield from finish()
        elif (
            fenced or not bare or bare.startswith(("#", "<")) or (not lines and line[:4] == "    ")
        ):
            yield from finish()
        elif bare.startswith("|"):
            yield from finish()
            cells = re.sub(r"`[^`]*`", "`code`", bare).split("|")
            yield from (Piece(number, cell) for cell in cells)
        else:
            item = re.match(r"(?:[-*+]|\d+\.)\s+", bare)
            if item:
                yield from finish()
            if not lines:
                begin = number
            lines.append(bare[item.end() :] if item else bare)
    yield from finish()


def of_python(text: str) -> tuple[list[Piece], list[Piece]]:
    """Returns strings, and comments with docstrings."""
    module = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(module)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    strings: list[Piece] = []
    comments: list[Piece] = []
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            spoken = comments if id(node) in docstrings else strings
            spoken.extend(Piece(node.lineno, part) for part in node.value.split("\n\n"))
    lines = [
        (token.start[0], token.string.lstrip("#! "))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    return strings, comments + joined(lines)


def joined(lines: list[tuple[int, str]]) -> list[Piece]:
    """Joins comments on consecutive lines into one."""
    pieces: list[Piece] = []
    last = -1
    for number, text in lines:
        if number == last + 1 and text:
            pieces[-1] = Piece(pieces[-1].line, f"{pieces[-1].text} {text}")
        else:
            pieces.append(Piece(number, text))
        last = number if text else -1
    return pieces


def of_code(text: str) -> tuple[list[Piece], list[Piece]]:
    """Returns strings and comments of C++ or JavaScript."""
    strings: list[Piece] = []
    comments: list[Piece] = []
    lines: list[tuple[int, str]] = []
    end_of_string = -1
    number, counted = 1, 0
    for token in TOKEN.finditer(text):
        number += text.count("\n", counted, token.start())
        counted = token.start()
        goes_on = end_of_string >= 0 and not text[end_of_string : token.start()].strip()
        end_of_string = token.end() if goes_on else -1
        if token["line"] is not None:
            lines.append((number, token["line"].lstrip("/ ")))
        elif token["block"] is not None:
            comments.append(Piece(number, re.sub(r"\n\s*\*", "\n", token["block"][2:-2])))
        elif token["text"] is not None:
            content = re.sub(r"\\[nt]", "\n", token["text"]).replace('\\"', '"')
            begin = number
            if goes_on:
                begin, content = strings[-1].line, strings.pop().text + content
            strings.append(Piece(begin, content))
            end_of_string = token.end()
        else:
            content = token["raw"] or token["template"] or (token["quoted"] or "''")[1:-1]
            strings.extend(Piece(number, part) for part in content.split("\n\n"))
    return strings, comments + joined(lines)


@cache
def pieces(path: Path) -> tuple[list[Piece], list[Piece]]:
    """Returns the pieces that a user sees, and those that only a reader of the code sees."""
    text = path.read_text()
    if path.suffix == ".md":
        return list(of_page(text)), []
    return of_python(text) if path.suffix == ".py" else of_code(text)


def pages() -> list[Path]:
    """Returns the pages for users: README.md and those of docs/."""
    named = ((path, tree.relative(path)) for path in tree.files() if path.suffix == ".md")
    return [path for path, name in named if name == "README.md" or name.startswith("docs/")]


def spoken() -> list[Path]:
    """Returns the sources with strings that a user sees."""
    return [path for path in sources() if tree.relative(path).startswith(SPOKEN)]


def sources() -> list[Path]:
    return [path for path in tree.files() if path.suffix in SOURCES]


def judged(paths: list[Path], kind: int) -> tuple[list[Found], int]:
    """Returns the sentences of strings (0) or comments (1) that stop a reader, and the number of
    all."""
    found: list[Found] = []
    count = 0
    for path in paths:
        for piece in pieces(path)[kind]:
            parts = sentences(piece.text)
            count += len(parts)
            found += [Found(path, piece.line, part) for part in parts if stops(part)]
    return found, count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comments", nargs="+", metavar="FOLDER", help="list those of comments")
    arguments = parser.parse_args()
    if arguments.comments:
        begins = tuple(arguments.comments)
        print(
            *judged([p for p in sources() if tree.relative(p).startswith(begins)], 1)[0], sep="\n"
        )
        return
    for name, paths in (("pages", pages()), ("strings", spoken())):
        found, count = judged(paths, 0)
        print(*found, f"{name}: {len(found)} of {count} sentences", sep="\n")
    by_room: dict[str, list[Path]] = defaultdict(list)
    for path in sources():
        by_room["/".join(tree.relative(path).split("/")[:-1][:2])].append(path)
    total, all_sentences = judged(sources(), 1)
    for room, paths in sorted(by_room.items()):
        found, count = judged(paths, 1)
        print(f"comments of {room}: {len(found)} of {count} sentences")
    print(f"comments: {len(total)} of {all_sentences} sentences")


if __name__ == "__main__":
    main()
