"""Plain words: finds fragments, which a reader must complete, and words of this project's own.

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

# Beginnings of a text that says nothing without the text before it.
ELLIPSIS = re.compile(
    r"The same (?:as|but|for|in|of|with|without)\b|The same(?: thing)?[.,;:]"
    r"|As (?:above|before|below|there)\b[^,]*$"
    r"|(?:Likewise|Ditto|Idem)\b[^,]*$"
    r"|See (?:above|below|there)\.?$"
    r"|Not for\b[^,]*$"
    r"|\d+: none\.?$"
)
# Words that only authors of this project used in these meanings. Names in code may be such words.
OWN_WORDS = re.compile(
    r"(?<![\w`*\"'/.$({\[])told(?![\w`*\"'/(\[]|\.\w)"
    r"|\btells? of\b"
    r"|\b(?:newest news|its like|their like|and the like of|so many of (?:them|these|those))\b",
    re.IGNORECASE,
)
# A sentence that begins with one of these and has no verb belongs to the sentence before it.
PREPOSITION = re.compile(
    r"(?:After|At|Before|Behind|Below|Beside|Between|During|For|From|In|Into|Of|On|Over|Per"
    r"|Through|To|Under|Until|Up|With|Within|Without)\b"
)
# Verbs without the ending -s or -ed. Every word with such an ending is taken for a verb, except
# these nouns: it is better to miss a fragment than to find one in a good sentence.
VERB = re.compile(
    r"(?:add|allocate|answer|apply|are|ask|be|become|been|began|begin|belong|build|call|calls"
    r"|came|can|cannot|choose|come|compare|contain|continue|copy|cost|could|count|create"
    r"|did|do|end|exist|fall|fill|find|fit|follow|found|free|gave|get|give|go|got|grow|had"
    r"|happen|have|hold|keep|kept|knew|know|leave|let|lie|link|live|load|look|lost|made"
    r"|make|may|mean|might|move|must|need|open|overwrite|pass|print|put|ran|reach|read"
    r"|receive|record|release|remove|return|run|said|say|see|send|sent|serve|set|shall"
    r"|should|show|start|stay|stop|store|take|test|took|try|use|wait|want|was|went|were"
    r"|will|work|would|write|wrote)"
)
NOUN = re.compile(
    r"(?:across|address|addresses|allocations|always|as|blocks|bytes|chunks|devices|events"
    r"|frees|gpus|its|kinds|layers|less|libraries|lines|needed|operators|pages|pieces"
    r"|plus|process|ranks|requests|seconds|sizes|stacks|steps|streams|tensors|tests|this"
    r"|threads|traces|unless|values|words)"
)
FEWEST_WORDS = 6
# Folders whose strings a user sees.
SPOKEN = ("interpose/", "python/", "tools/")
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
    """Returns the sentences of a text. A single word is none, unless it says "like the above"."""
    parts = SENTENCE_END.split(" ".join(text.split()))
    return [
        part
        for part in parts
        if len(re.findall(r"[A-Za-z]{2,}", part)) >= 2 or ELLIPSIS.match(part)
    ]


def has_verb(sentence: str) -> bool:
    text = re.sub(r"`[^`]*`", "", sentence)
    words = [word.lower() for word in re.findall(r"[A-Za-z']+", text)]
    endings = ("s", "ed", "n't")
    return any(
        VERB.fullmatch(word) or (word.endswith(endings) and not NOUN.fullmatch(word))
        for word in words
    )


def stops(sentence: str) -> bool:
    """Returns whether a sentence is a fragment, or has a word of this project's own."""
    bare = sentence.strip("\"'()*_")
    if ELLIPSIS.match(bare) or OWN_WORDS.search(sentence):
        return True
    long = len(bare.split()) >= FEWEST_WORDS
    begins = long and bare.endswith(".") and PREPOSITION.match(bare)
    return bool(begins) and not has_verb(bare)


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
        (token.start[0], token.string.lstrip("#! "), bool(token.line[: token.start[1]].strip()))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    return strings, comments + joined(lines)


def joined(lines: list[tuple[int, str, bool]]) -> list[Piece]:
    """Joins comments on consecutive lines into one. A comment behind code begins a new one."""
    pieces: list[Piece] = []
    last = -1
    for number, text, behind_code in lines:
        if number == last + 1 and text and not behind_code:
            pieces[-1] = Piece(pieces[-1].line, f"{pieces[-1].text} {text}")
        else:
            pieces.append(Piece(number, text))
        last = number if text else -1
    return pieces


def of_code(text: str) -> tuple[list[Piece], list[Piece]]:
    """Returns strings and comments of C++ or JavaScript."""
    strings: list[Piece] = []
    comments: list[Piece] = []
    lines: list[tuple[int, str, bool]] = []
    end_of_string = -1
    number, counted = 1, 0
    for token in TOKEN.finditer(text):
        number += text.count("\n", counted, token.start())
        counted = token.start()
        goes_on = end_of_string >= 0 and not text[end_of_string : token.start()].strip()
        end_of_string = token.end() if goes_on else -1
        if token["line"] is not None:
            before = text[text.rfind("\n", 0, token.start()) + 1 : token.start()]
            lines.append((number, token["line"].lstrip("/ "), bool(before.strip())))
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
    """Returns all pages: those for users, and the README.md of each room."""
    return [path for path in tree.files() if path.suffix == ".md"]


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
