"""Checks setup/release with pieces of its own in a small repository, and its list of pieces."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import tree

BUILD = Path(os.environ.get("VRAMSTOW_BUILD", tree.ROOT / "build"))
PIECES = """
[good]
shows = One thing holds.
command = echo '3 passed, 1 skipped in 0.01s'
minutes = 1

[bad]
shows = Another thing holds.
command = echo '1 failed, 2 passed in 0.01s'
    echo before
    exit 7
minutes = 1

[after-bad]
shows = What follows holds < or not.
command = cat {folder}/handed
minutes = 1
needs = bad

[beside]
shows = Nothing got slower.
command = ls {before}
minutes = 1

[none]
shows = There is such a thing.
absent = Nobody promises it.
"""
SLOW = """
[first]
shows = It is quick.
command = echo ran >>build-release/first
minutes = 1

[slow]
shows = It takes long.
command = echo $$ >build-release/slow; sleep 600 & wait
minutes = 1

[last]
shows = It follows.
command = true
minutes = 1
"""


class Small:
    """A repository that has setup/release and these pieces."""

    def __init__(self, folder: Path, pieces: str) -> None:
        self.folder = folder
        self.ledger = folder / "build-release/ledger.jsonl"
        (folder / "setup/clients").mkdir(parents=True)
        (folder / "docs").mkdir()
        shutil.copy(tree.ROOT / "setup/release", folder / "setup")
        shutil.copytree(
            tree.ROOT / "setup/releasing",
            folder / "setup/releasing",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        (folder / "setup/torch-releases.txt").write_text("2.6.0 3.11\n")
        (folder / "setup/release-pieces.txt").write_text(pieces)
        (folder / ".gitignore").write_text("/build-*/\n__pycache__/\n")
        self.git("init", "-q")
        self.commit()

    def git(self, *arguments: str) -> str:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        command = ["git", *author, *arguments]
        ran = subprocess.run(
            command, cwd=self.folder, check=True, capture_output=True, text=True, timeout=60
        )
        return ran.stdout.strip()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "One")
        return self.git("rev-parse", "HEAD")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            (self.folder / "setup/release", *arguments),
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        with self.start(*arguments) as ran:
            out, err = ran.communicate(timeout=60)
        return ran.returncode, out, err

    def records(self) -> list[dict]:
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def states(self) -> list[tuple[str, str]]:
        return [(record["piece"], record["state"]) for record in self.records()]

    def page(self) -> str:
        assert self.run("--page") == (0, "", "")
        return (self.folder / "docs/release.md").read_text()


def wait_for(file: Path) -> int:
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        if file.exists() and file.read_text().strip():
            return int(file.read_text())
        time.sleep(0.02)
    raise AssertionError(f"{file} did not appear")


def begun(small: Small) -> int:
    """Returns the process of the slow piece, once the run knows it and can end it."""
    piece = wait_for(small.folder / "build-release/slow")
    limit = time.monotonic() + 60
    while small.records()[-1]["process"] != piece:
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.02)
    return piece


def is_gone(process: int) -> bool:
    """Returns whether all processes of the group have ended, for which they get some time."""
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        try:
            os.killpg(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def row(page: str, piece: str) -> str:
    [found] = [part for part in page.split("<tr>") if part.startswith(f"<td>{piece}</td>")]
    return found


def test_each_piece_is_recorded_and_stands_on_the_page(tmp_path: Path) -> None:
    small = Small(tmp_path, PIECES)
    status, out, err = small.run()
    assert (status, out) == (1, "")
    assert "after-bad does not run: it needs bad, which has not passed" in err
    assert "beside does not run: it compares with the last release" in err
    assert err.splitlines()[-1].endswith("3 of 4 pieces did not pass: bad, after-bad, beside.")
    good, bad = small.records()
    assert good["commit"] == small.git("rev-parse", "HEAD") and good["cores"] >= 1
    assert (good["state"], good["status"], good["passed"], good["skipped"]) == ("ended", 0, 3, 1)
    assert (bad["status"], bad["failed"], bad["passed"]) == (7, 1, 2)
    assert bad["last_lines"] == ["1 failed, 2 passed in 0.01s", "before"]
    assert "before" in (tmp_path / "build-release" / bad["log"]).read_text()
    page = small.page()
    assert f"`{good['commit']}`" in page
    assert "Of 4 pieces 1 passed, 1 did not pass, 0 did not end, and 2 were not run." in page
    assert row(page, "good").endswith("<td>passed: 3 tests; 1 skipped</td></tr>\n")
    assert "<strong>failed with status 7: 1 of 3 tests</strong>" in row(page, "bad")
    assert "<strong>not run on this commit</strong>" in row(page, "after-bad")
    assert "holds &lt; or not" in row(page, "after-bad")
    assert "<strong>not there: Nobody promises it.</strong>" in row(page, "none")
    assert "<code>echo before</code>\n<br><code>exit 7</code>" in row(page, "bad")
    assert "<strong>passed" not in page
    _, listed, _ = small.run("--list")
    assert "passed: 3 tests" in listed and "failed with status 7" in listed
    assert "not there: Nobody promises it." in listed


def test_what_passed_runs_again_only_by_name_and_what_failed_always(tmp_path: Path) -> None:
    small = Small(tmp_path, PIECES)
    assert small.run("good", "bad")[0] == 1
    assert small.run("--continue", "good", "bad")[2].count("Nothing is left to run") == 1
    assert small.run("good")[0] == 0
    small.run()
    pieces = [piece for piece, _ in small.states()]
    assert pieces == ["good", "bad", "good", "bad"]
    assert small.run("b*", "--before", str(tree.ROOT))[2].count("begins") == 2
    # The next commit has no results, and the page of the one before can still be written.
    before = small.git("rev-parse", "HEAD")
    (tmp_path / "more").touch()
    small.commit()
    assert "not run on this commit; one commit before" in small.run("--list", "good")[1]
    assert small.run("--page", "--commit", before)[0] == 0
    assert before in (tmp_path / "docs/release.md").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_piece_ends_and_runs_again(tmp_path: Path, number: signal.Signals) -> None:
    small = Small(tmp_path, SLOW)
    with small.start() as ran:
        piece = begun(small)
        ran.send_signal(number)
        _, err = ran.communicate(timeout=60)
    assert ran.returncode == 128 + number
    assert err.splitlines()[-1] == (
        "setup/release: It was interrupted; the same command goes on with the interrupted piece."
    )
    assert is_gone(piece)
    assert small.states() == [("first", "ended"), ("slow", "interrupted")]
    assert row(small.page(), "slow").count("<strong>interrupted, so that nothing is known</strong>")
    (tmp_path / "build-release/slow").unlink()
    with small.start("--continue") as ran:
        begun(small)
        ran.send_signal(number)
        ran.communicate(timeout=60)
    assert (tmp_path / "build-release/first").read_text() == "ran\n"


def test_a_killed_run_is_continued_once_its_processes_have_ended(tmp_path: Path) -> None:
    small = Small(tmp_path, SLOW)
    with small.start() as ran:
        piece = wait_for(tmp_path / "build-release/slow")
        assert "Another setup/release runs" in small.run()[2]
        ran.kill()
    assert small.states() == [("first", "ended"), ("slow", "begun")]
    status, _, err = small.run("--continue")
    assert status == 1 and f"'kill -- -{piece}' ends them." in err
    assert "was killed" in row(small.page(), "slow")
    os.killpg(piece, signal.SIGKILL)
    (tmp_path / "setup/release-pieces.txt").write_text(SLOW.replace("sleep 600 & wait", "true"))
    changed = ("update-index", "--assume-unchanged", "setup/release-pieces.txt")
    small.git(*changed)
    status, _, err = small.run("--continue")
    assert status == 0 and "Each piece that was to run passed." in err
    assert "first" not in err


def test_a_fresh_clone_knows_what_was_seen_on_earlier_commits(tmp_path: Path) -> None:
    small = Small(tmp_path / "first", PIECES)
    assert small.run("good", "bad")[0] == 1
    small.page()
    first = small.commit()
    clone = Small.__new__(Small)
    clone.folder, clone.ledger = tmp_path / "second", tmp_path / "second/build-release/ledger.jsonl"
    small.git("clone", "-q", ".", str(clone.folder))
    before = clone.git("rev-parse", "HEAD~1")[:12]
    assert clone.git("rev-parse", "HEAD") == first
    kept = (clone.folder / "docs/release-results.jsonl").read_text()
    assert 'last_lines": []' in kept and "logs/" not in kept  # no output, no file of a machine
    said = f"not run on this commit; one commit before, on {before}, "
    listed = clone.run("--list")[1]
    assert f"{said}passed: 3 tests; 1 skipped" in listed and "~60 s" in listed
    page = clone.page()
    assert f"<strong>{said}passed: 3 tests; 1 skipped</strong>" in row(page, "good")
    assert f"<strong>{said}failed with status 7: 1 of 3 tests</strong>" in row(page, "bad")
    assert "and 4 were not run.\n2 of these ran before, on an earlier commit, and 1 passed." in page
    assert clone.run("--continue", "good")[0] == 0  # a result of before does not stand for this one
    assert row(clone.page(), "good").endswith("<td>passed: 3 tests; 1 skipped</td></tr>\n")
    assert (clone.folder / "docs/release-results.jsonl").read_text().count('"good"') == 1


def test_what_another_list_ran_is_no_result_of_this_list(tmp_path: Path) -> None:
    small = Small(tmp_path, PIECES)
    other = tmp_path / "build-release/other.txt"
    other.parent.mkdir(exist_ok=True)
    other.write_text("[bad]\nshows = It passes.\ncommand = true\nminutes = 1\n")
    assert small.run("--pieces", str(other))[0] == 0
    assert "not run on this commit" in row(small.page(), "bad")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "has no piece."),
        ("[a]\nshows = It.\nabsent = No.\nminutes = abc\n", "needs a whole number"),
        ("[a]\nshows = It.\nabsent = No.\neach = client\n", "cannot be one for each"),
    ],
)
def test_a_wrong_list_is_refused_in_one_sentence(tmp_path: Path, text: str, wrong: str) -> None:
    small = Small(tmp_path, text)
    status, out, err = small.run("--list")
    assert (status, out, err.count("\n")) == (2, "", 1) and wrong in err


def test_a_changed_tree_is_refused_in_one_sentence(tmp_path: Path) -> None:
    small = Small(tmp_path, PIECES)
    small.page()
    assert small.run("good")[0] == 0  # the page itself may be new
    (tmp_path / "new file").touch()
    status, out, err = small.run("good")
    assert (status, out) == (1, "") and err.count("\n") == 1
    assert "The tree has changes (new file)" in err and "commit them or put them aside" in err


def test_a_piece_that_changes_the_tree_has_shown_nothing(tmp_path: Path) -> None:
    small = Small(tmp_path, PIECES)
    pieces = "[writes]\nshows = It holds.\ncommand = touch new\nminutes = 1\n"
    (tmp_path / "setup/release-pieces.txt").write_text(pieces)
    small.commit()
    status, _, err = small.run()
    assert status == 1 and "The tree has changes while writes ran (new)" in err
    assert small.states()[-1] == ("writes", "interrupted")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "Expecting property name"),
        ("[]", "no JSON object"),
        ('{"commit": "a"}', "'piece' is missing"),
        ('{"commit": 1}', "'commit' has a value of the wrong type"),
    ],
)
def test_a_broken_ledger_is_named_with_its_line(tmp_path: Path, line: str, what: str) -> None:
    small = Small(tmp_path, PIECES)
    assert small.run("good")[0] == 0
    whole = small.ledger.read_text()
    small.ledger.write_text(whole + line + "\n")
    for arguments in (("--list",), ("--page",), ("good",)):
        status, out, err = small.run(*arguments)
        assert (status, out) == (1, "") and err.count("\n") == 1, err
        assert "Line 2 of the ledger" in err and what in err
    assert small.ledger.read_text() == whole + line + "\n"


def test_a_full_disk_is_one_sentence_and_leaves_the_ledger(tmp_path: Path) -> None:
    small = Small(tmp_path, PIECES)
    assert small.run("good")[0] == 0
    whole = small.ledger.read_text()
    ran = subprocess.run(
        (tmp_path / "setup/release", "good"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
    )
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].endswith("cannot be read or written: File too large.")
    assert small.ledger.read_text() == whole
    assert not list(small.ledger.parent.glob("*.new"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--lists",), "arguments: --lists; see setup/release --help."),
        (("--list", "--page"), "cannot be given together"),
        (("--commit", "HEAD"), "only HEAD can be run"),
        (("--before", "/nowhere"), "has no folder build/"),
        (("goood",), "There is no piece 'goood'"),
        (("--pieces", "/nowhere"), "cannot be read"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = Small(tmp_path, PIECES).run(*arguments)
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("shows = A.", "either 'command' or 'absent'"),
        ("shows = A.\ncommand = true", "whole number of minutes"),
        ("shows = A.\ncommand = true\nminutes = 1\nneeds = b", "needs 'b', which must come before"),
        ("shows = A.\ncommand = true\nminutes = 1\nfor = b", "unknown key 'for'"),
        ("no key", "is broken"),
    ],
)
def test_a_wrong_list_is_refused(tmp_path: Path, section: str, said: str) -> None:
    status, _, err = Small(tmp_path, f"[a]\n{section}\n").run("--list")
    assert status == 2 and said in err and err.count("\n") == 1, err


CTEST = """
import pathlib, sys
here = pathlib.Path(sys.argv[1])
(here / "Testing/Temporary").mkdir(parents=True, exist_ok=True)
(here / "Testing/Temporary/LastTest.log").write_text('''
1/4 Test: pytests
Output:
12 passed, 3 skipped in 7.91s
<end of output>
2/4 Test: googles
[==========] 5 tests from 1 test suite ran.
[  PASSED  ] 4 tests.
[  SKIPPED ] 1 test, listed below:
<end of output>
3/4 Test: left_out
<end of output>
4/4 Test: failing
1 failed, 6 passed in 1.00s
<end of output>
''')
print(f"Test project {here}")
print("1/4 Test  #47: pytests ...................   Passed    8.55 sec")
print("2/4 Test  #48: googles ...................   Passed    8.55 sec")
print("3/4 Test   #1: left_out ..................***Skipped   0.01 sec")
print("4/4 Test   #2: failing ...................***Failed    0.01 sec")
print("1 failed, 6 passed in 1.00s")
sys.exit(int(sys.argv[2]))
"""


def test_skipped_cases_inside_a_test_of_ctest_are_counted(tmp_path: Path) -> None:
    fake = tmp_path / "build-fake"
    command = f"python3 ctest.py {fake} 8"
    pieces = f"[all]\nshows = It holds.\ncommand = {command}\nminutes = 1\n"
    small = Small(tmp_path, pieces)
    (tmp_path / "ctest.py").write_text(CTEST)
    small.commit()
    assert small.run()[0] == 1
    [record] = small.records()
    assert (record["passed"], record["failed"], record["skipped"]) == (22, 1, 5)


def test_tests_that_were_all_skipped_show_nothing(tmp_path: Path) -> None:
    command = "echo '4 skipped in 0.01s'"
    small = Small(tmp_path, f"[all]\nshows = It holds.\ncommand = {command}\nminutes = 1\n")
    assert small.run()[0] == 1
    assert row(small.page(), "all").count(
        "<strong>nothing shown: no test passed; 4 skipped</strong>"
    )


def test_each_release_and_each_client_is_a_piece() -> None:
    listed = subprocess.run(
        (tree.ROOT / "setup/release", "--list"), capture_output=True, text=True, check=True
    ).stdout
    names = set(re.findall(r"^(\S+) ", listed, re.MULTILINE))
    assert {"torch-2.15.0-python3.13", "client-vllm", "wheel", "kit"} <= names
    clients = {f"client-{file.stem}" for file in (tree.ROOT / "setup/clients").glob("*.txt")}
    assert {name for name in names if name.startswith("client-")} == clients


def test_each_long_test_is_in_one_piece_at_least() -> None:
    if not (BUILD / "CTestTestfile.cmake").exists():
        pytest.skip(f"{BUILD} is not configured")
    listing = subprocess.run(
        ("ctest", "--test-dir", BUILD, "-N", "-L", "long"), capture_output=True, text=True
    ).stdout
    long_tests = [line.split()[-1] for line in listing.splitlines() if line.startswith("  Test ")]
    pieces = (tree.ROOT / "setup/release-pieces.txt").read_text()
    patterns = re.findall(r"--long --only '(.+)'", pieces)
    # Pieces run these two with a wheel that is made once.
    patterns += [
        name for name in ("packaging_bare", "packaging_kit") if f"{name[10:]}_test.py" in pieces
    ]
    missing = [name for name in long_tests if not any(re.search(one, name) for one in patterns)]
    assert long_tests and not missing
    idle = [one for one in patterns if not any(re.search(one, name) for name in long_tests)]
    assert not idle
