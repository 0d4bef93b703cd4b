"""Finds the commands that README, pages, help and topics print, as a user would copy them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from built import ROOT, run_vramstow

# A line of a page that contains such a word cannot be run: the word is a placeholder for a value of
# the reader's.
FORM = re.compile(
    r"…|\[[A-Z-]|\b[A-Z]{3,}\b(?!_)|\|[A-Z]|\.\.\.|'…'|<\w+>|\|auto|unix:PATH|NAME|NAMES|\bID\b"
)


@dataclass(frozen=True)
class Printed:
    command: str
    where: str
    is_inline: bool = False

    @property
    def is_form(self) -> bool:
        """True for a command with placeholders. Only the part of vramstow counts, not the job after
        `--`."""
        own, _, job = self.command.partition(" -- ")
        form = FORM.search(re.sub(r"'[^']*'", "", own)) or re.search(r"\b(JOB|COMMAND)\b|…", job)
        return form is not None

    @property
    def is_name(self) -> bool:
        """True if a page only names a command, or one with a flag; nobody would type it so."""
        words = self.command.split()
        names_something = any("." in word or "/" in word for word in words) or "--" in words
        whole = {"analyze", "report", "top", "doctor"}
        return self.is_inline and not names_something and words[1] not in whole


def blocks(text: str) -> list[str]:
    """Returns the lines of code blocks, indented or fenced; a continued line counts as one."""
    text = text.replace("\\\n", " ")
    lines = re.findall(r"^(?:    |\t)(.+)$", text, flags=re.MULTILINE)
    for block in re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL):
        lines += block.splitlines()
    return lines


def inline(text: str) -> list[str]:
    without_blocks = re.sub(r"^(    |\t).*$", "", text, flags=re.MULTILINE)
    without_blocks = re.sub(r"```.*?```", "", without_blocks, flags=re.DOTALL)
    return [found.replace("\n", " ") for found in re.findall(r"`(vramstow [^`]+)`", without_blocks)]


def command_in(line: str) -> str | None:
    """Returns the command without its prompt and without a comment after it."""
    found = re.match(r"\s*(?:\$ )?(vramstow .+)$", line)
    if found is None:
        return None
    return re.split(r"\s+#|\s{2,}|\s+\(no GPU", found[1])[0].rstrip(" .,;:")


def program(*arguments: str) -> str:
    return run_vramstow(*arguments, check=True, timeout=60).stdout


def of_help(text: str) -> list[str]:
    """Returns the examples of a help text, which are indented, unlike sentences."""
    return [line for line in text.splitlines() if line.startswith("  vramstow ")]


def collected() -> list[Printed]:
    lines: list[tuple[str, str, bool]] = []
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]):
        text = page.read_text()
        name = str(page.relative_to(ROOT))
        lines += [(line, name, False) for line in blocks(text)]
        lines += [(line, name, True) for line in inline(text)]
    overview = program("--help")
    listed = overview.partition("Commands:\n")[2].partition("\n\n")[0]
    lines += [(line, "--help", False) for line in of_help(overview)]
    names = [line.split()[0] for line in listed.splitlines()]
    for name in [*names, *overview.splitlines()[-1].split()]:
        where = f"help {name}"
        lines += [(line, where, False) for line in of_help(program("help", name))]
    found: dict[str, Printed] = {}
    for line, where, is_inline in lines:
        command = command_in(line)
        if command is None or " " not in command:
            continue
        if command not in found or found[command].is_inline:
            found[command] = Printed(command, where, is_inline)
    return list(found.values())


def main() -> None:
    for printed in collected():
        kind = "form" if printed.is_form else "name" if printed.is_name else "command"
        print(kind, printed.where, ":", printed.command)


if __name__ == "__main__":
    main()
