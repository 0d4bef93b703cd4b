"""The links of the pages lead to existing targets, and the commands on them exist."""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, run_program

PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
# All pages whose links are checked, including the READMEs of folders. The text from which
# docs/techniques.md is made is left out, because its links are relative to that page.
LINKING = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts)
    and path != ROOT / "examples/measure/page.md"
)
TOP_FOLDERS = "adapters|allocator|base|bench|cmake|docs|examples|include|interpose|python|setup"
TOP_FOLDERS += "|simulator|tests|tools|tracer"


def without_code(text: str) -> str:
    """Returns the text without blocks of code and inline code; the links are in the rest."""
    text = re.sub(r"^(    |\t).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub makes from headings."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.lower().replace("`", ""))
        found.add(words.strip().replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there), target


def test_each_release_says_briefly_how_to_upgrade() -> None:
    text = re.sub(r"<!--.*?-->", "", (ROOT / "CHANGELOG.md").read_text(), flags=re.DOTALL)
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert releases[-1].startswith("0.1.0"), "there is nothing to upgrade from"
    for release in releases:
        name = release.partition("\n")[0]
        assert release.count("\n") <= 80, f"{name} has more than 80 lines"
        assert "### How to upgrade" in release or release is releases[-1], name


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text()
    linked = set(re.findall(r"\]\(([a-z-]+\.md)\)", index))
    assert linked == {page.name for page in PAGES if page.name != "README.md"}


@functools.cache
def help_of(*command: str) -> str:
    flag = "--help-all" if command[1:] == ("run",) else "--help"
    return run_program(*command, flag, check=True, cwd=ROOT, timeout=60).stdout


def commands() -> list[str]:
    listed = help_of(str(VRAMSTOW)).partition("Commands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def test_every_command_has_a_page() -> None:
    """The index names the page, and the page shows how the command is called."""
    index = (ROOT / "docs/README.md").read_text()
    rows = dict(re.findall(r"^\| `vramstow (\w+)` \|.*\]\(([a-z-]+\.md)\)", index, re.MULTILINE))
    assert len(commands()) > 10
    assert set(rows) == set(commands())
    for command, page in rows.items():
        assert f"vramstow {command}" in (ROOT / "docs" / page).read_text(), (command, page)


def snippets(text: str) -> list[str]:
    """Returns the code on a page: lines of blocks, and inline code."""
    lines = re.findall(r"^(?:    |\t)(.+)$", text, flags=re.MULTILINE)
    for block in re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL):
        lines += block.replace("\\\n", " ").splitlines()
    return lines + re.findall(r"`([^`\n]+)`", text)


def calls(text: str) -> list[list[str]]:
    """Returns calls of vramstow and its scripts: the words from the name to the end of the shell
    command."""
    found = []
    for snippet in snippets(text):
        start = re.match(
            r"(?:\$ |- |\w+=\S+ |srun |exec )*((?:\S*/)?vramstow|examples/run|tests/run)(?= )",
            snippet,
        )
        if start is None:
            continue
        line = re.split(r"\s#|\s{3,}|\s\||\s&&|;", snippet[start.start(1) :])[0]
        # Remove placeholders and line continuations, which a shell would not accept.
        line = line.replace("…", " ").replace("\\", " ").replace("(", " ").replace(")", " ")
        line = line.replace("[", " ").replace("]", " ")
        try:
            found.append(shlex.split(line))
        except ValueError:
            found.append(line.split())
    return found


# Options that vramstow uses internally, which no help lists.
HIDDEN = {"--probe"}
# The file that docs/extending.md asks its reader to write.
WRITTEN_BY_READERS = {"tools/analysis/advice/causes/workspaces.cc"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_pages_are_commands_that_there_are(page: Path) -> None:
    for program, *words in calls(page.read_text()):
        name = Path(program).name
        if name == "run":
            text, words = help_of(program), words
        elif words and words[0] == "help":
            continue  # a topic or an id: docs_test.py asks for each
        elif not words or words[0] not in [*commands(), "docs"]:
            assert not words or not re.fullmatch(r"[a-z]+", words[0]), f"no command {words[0]}"
            text = help_of(str(VRAMSTOW))
        else:
            if words[0] == "docs":
                continue
            text = help_of(str(VRAMSTOW), words[0])
        # The words after -- belong to the job. A placeholder {NAME} in them has a flag of its own.
        end = words.index("--") if "--" in words else len(words)
        places = {f"--{name}" for name in re.findall(r"{([a-z]+)}", " ".join(words[end:]))}
        words = words[:end]
        for word in words:
            flag = word.partition("=")[0]
            if flag in HIDDEN or flag in places:
                continue
            if re.fullmatch(r"--[a-z][a-z-]*", flag):
                assert re.search(rf"{flag}\b(?!-)", text), f"{name} {' '.join(words)}: no {flag}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_pages_name_are_there(page: Path) -> None:
    for snippet in snippets(page.read_text()):
        pattern = rf"(?<![\w./-])((?:{TOP_FOLDERS})/[\w./-]*[\w/])(?![\w*<…])"
        for name in set(re.findall(pattern, snippet)) - WRITTEN_BY_READERS:
            # Programs are named by their binaries or by their source files.
            there = [ROOT / name, ROOT / f"{name}.cc", ROOT / "build" / name]
            assert any(path.exists() for path in there) or "NAME" in name, name
