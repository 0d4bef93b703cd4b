"""Tests all commands of the program: help with examples, --json, exit codes, terminal output."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, run_program, run_vramstow
from fit_test import JOB
from installation import WRITE_TRACE, compile_library, write
from pseudo_terminal import all_seen


def vramstow(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload]
        [VRAMSTOW, *arguments],
        **{"capture_output": True, "text": True, "timeout": 120, "check": False} | options,
    )


def commands() -> list[str]:
    listed = vramstow("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def test_the_commands_are_those_that_are_documented() -> None:
    assert {"run", "analyze", "report", "diff", "check", "replay", "export"} <= set(commands())
    assert {"convert", "fit", "plan", "ctl", "top", "adapter", "doctor"} <= set(commands())


def topics() -> list[str]:
    return vramstow("--help").stdout.splitlines()[-1].split()


@pytest.mark.parametrize("topic", topics())
def test_a_topic_names_flags_and_pages_that_are_there(topic: str) -> None:
    told = vramstow("help", topic)
    assert (told.returncode, told.stderr) == (0, "")
    assert max(len(line) for line in told.stdout.splitlines()) <= 100
    pages = re.findall(r"vramstow help ([a-z-]+\.md)", told.stdout.replace("\n", " "))
    assert pages and "docs/" not in told.stdout
    for page in pages:
        assert vramstow("help", page).stdout == (ROOT / "docs" / page).read_text()
    everything = vramstow("run", "--help-all").stdout
    for line in told.stdout.splitlines():
        found = re.match(r"  vramstow (\w+)", line)
        command = found[1] if found else "run"
        assert command in commands(), line
        flags = vramstow(command, "--help").stdout if command != "run" else everything
        before = line.partition(" -- ")[0]
        for flag in re.findall(r"--[a-z]+", before):
            assert flag in flags or flag in everything, line


def test_a_misspelt_topic_gets_its_likely_meaning() -> None:
    done = vramstow("help", "offlaod")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "vramstow: there is no command, topic or advice 'offlaod', did you mean offload? "
        "See vramstow --help.\n"
    )


def test_help_points_at_nothing_that_an_installation_lacks() -> None:
    """A wheel has the program and its pages, but the user's folder has no docs/."""
    everything = vramstow("--help").stdout
    for command in commands():
        everything += vramstow(command, "--help").stdout
    assert "docs/" not in everything + vramstow("run", "--help-all").stdout
    for page in re.findall(r"help ([\w-]+\.md)", everything):
        assert vramstow("help", page).stdout == (ROOT / "docs" / page).read_text()
    # A page is also found without its extension if no command or topic has the name.
    assert vramstow("help", "installation").stdout == vramstow("help", "installation.md").stdout
    assert "help README.md" in vramstow("help", "analyse.md").stderr
    assert "did you mean analyze.md?" in vramstow("help", "docs/analyse.md").stderr


def test_where_no_pages_are_installed_help_says_so(tmp_path: Path) -> None:
    """A package leaves them out in a slim container, where dpkg excludes /usr/share/doc."""
    (tmp_path / "bin").mkdir()
    shutil.copy(VRAMSTOW, tmp_path / "bin")
    (tmp_path / "lib").symlink_to(VRAMSTOW.resolve().parents[1] / "lib")
    done = run_program(tmp_path / "bin/vramstow", "help", "installation")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "vramstow: there is no command, topic or advice 'installation', and the pages are not "
        f"installed: {tmp_path}/share/doc/vramstow/docs has none.\n"
    )


@pytest.mark.parametrize("command", commands())
def test_help_has_no_two_blank_lines_together(command: str) -> None:
    assert "\n\n\n" not in vramstow(command, "--help").stdout


@pytest.mark.parametrize("command", commands())
def test_help_has_an_example_json_and_exit_codes(command: str) -> None:
    result = vramstow(command, "--help")
    assert result.returncode == 0
    assert result.stderr == ""
    text = result.stdout
    examples = re.split(r"^Examples?:\n", text, flags=re.MULTILINE)[1]
    assert examples.startswith(f"  vramstow {command} ") or examples.startswith(
        f"  vramstow {command}\n"
    )
    assert re.search(r"^  --json\b", text, flags=re.MULTILINE)
    codes = re.search(r"^Exit status: (.*)", text, flags=re.MULTILINE | re.DOTALL)
    assert codes is not None
    assert re.search(r"\b2\b", codes[1])
    assert max(len(line) for line in text.splitlines()) <= 120


@pytest.mark.parametrize("command", commands())
def test_an_unknown_flag_gets_one_sentence_and_exit_status_2(command: str) -> None:
    result = vramstow(command, "--no-such-flag")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "--no-such-flag" in result.stderr


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("run", "--simluate=h200", "--", "true"), "--simulate"),
        (("run", "--polo"), "--pool"),
        (("report", "--jsn"), "--json"),
        (("analyse",), "analyze"),
    ],
)
def test_a_misspelt_name_gets_its_likely_meaning(given: tuple[str, ...], meant: str) -> None:
    result = vramstow(*given)
    assert result.returncode == 2
    assert f"did you mean {meant}?" in result.stderr


def test_a_name_like_no_other_gets_no_guess() -> None:
    for given in (("run", "--frobnicate"), ("zzz",)):
        result = vramstow(*given)
        assert result.returncode == 2
        assert "did you mean" not in result.stderr


def test_help_of_a_command_is_its_help() -> None:
    assert vramstow("help", "fit").stdout == vramstow("fit", "--help").stdout


def test_run_shows_the_common_flags_first_and_the_others_when_asked() -> None:
    first = vramstow("run", "--help").stdout
    everything = vramstow("run", "--help-all").stdout
    for heading in ("Profile: ", "Pool: ", "Offload: "):
        assert f"\n{heading}" in first
    assert "--offload" in first
    assert "--keep-free" not in first
    assert "--help-all" in first
    assert set(re.findall(r"--[a-z-]+", first)) < set(re.findall(r"--[a-z-]+", everything))
    assert "--keep-free" in everything
    assert vramstow("run", "--help-all", "--", "false").returncode == 0


@pytest.mark.parametrize("command", ["analyze", "report"])
def test_without_an_input_the_newest_trace_here_is_read(command: str, tmp_path: Path) -> None:
    old = write(tmp_path, "many")
    new = tmp_path / "b-new.stow"
    new.write_bytes(old.read_bytes())
    os.utime(old, (1, 1))
    copy = tmp_path / "c-oom.stow"
    copy.write_bytes(old.read_bytes())
    result = vramstow(command, cwd=tmp_path)
    assert result.returncode == 0
    assert result.stderr == (
        f"vramstow {command}: reads b-new.stow, the newest of 3 traces here.\n"
    )
    for trace in (old, new):
        trace.unlink()
    assert "reads c-oom.stow." in vramstow(command, cwd=tmp_path).stderr
    copy.unlink()
    without = vramstow(command, cwd=tmp_path)
    assert without.returncode == 2
    assert "no trace (.stow) in this folder" in without.stderr


# No folder can be read to its end, as if a process of /proc ended or a network file system failed.
FAILING_FOLDERS = """
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
static DIR* last;
static int entries;
struct dirent64* readdir64(DIR* folder) {
  struct dirent64* (*real)(DIR*) = (struct dirent64 * (*)(DIR*)) dlsym(RTLD_NEXT, "readdir64");
  entries = folder == last ? entries + 1 : 1;
  last = folder;
  if (entries < 4) return real(folder);
  errno = EIO;
  return 0;
}
struct dirent* readdir(DIR* folder) { return (struct dirent*)readdir64(folder); }
"""


def test_a_folder_that_cannot_be_read_to_its_end_ends_no_command(tmp_path: Path) -> None:
    library = tmp_path / "failing_folders.so"
    compile_library(library, FAILING_FOLDERS)
    (tmp_path / "adapters").mkdir()
    env = os.environ | {"LD_PRELOAD": str(library)}
    env["VRAMSTOW_ADAPTER_DIR"] = str(tmp_path / "adapters")
    for arguments in (
        ["top", "--once"],
        ["top", str(os.getpid()), "--once"],
        ["run", "--simulate=h200", "--no-trace", "--", "sh", "-c", "exit 0"],
    ):
        done = vramstow(*arguments, env=env)
        assert "filesystem error" not in done.stderr
        assert done.returncode == 0 or arguments[0] == "top"


def test_a_page_is_opened_in_the_browser(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    page = tmp_path / "page.html"
    arguments = ("report", trace, "-o", page, "--open")
    result = vramstow(*arguments, env=os.environ | {"BROWSER": str(browser)})
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "opened").read_text() == f"{page}\n"
    without = vramstow(*arguments, env=os.environ | {"BROWSER": "/no/such/browser"})
    assert without.returncode == 1
    assert without.stderr.count("\n") == 1
    assert page.exists()
    failed = vramstow(
        *arguments,
        env=os.environ | {"BROWSER": "false"},
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert (failed.returncode, "false cannot open it" in failed.stderr) == (1, True)


def test_json_is_one_line_of_json(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    baseline = tmp_path / "baseline.json"
    baseline.write_text(vramstow("analyze", "--json", trace).stdout)
    runs: list[list[str | Path]] = [
        ["analyze", trace, "--json"],
        ["report", trace, "-o", tmp_path / "page.html", "--json"],
        ["diff", trace, trace, "--json"],
        ["check", trace, "--baseline", baseline, "--json"],
        ["replay", trace, "--models", "bfc", "--json"],
        ["export", trace, "--to", "csv", "-o", tmp_path / "out.csv", "--json"],
        ["convert", trace, "-o", tmp_path / "again.stow", "--json"],
        ["top", tmp_path, "--json"],
        ["adapter", "remove", "--adapter-dir", tmp_path / "adapters", "--json"],
    ]
    for arguments in runs:
        result = vramstow(*arguments)
        assert result.returncode == 0, (arguments, result.stderr)
        assert result.stdout.count("\n") == 1, arguments
        assert isinstance(json.loads(result.stdout), dict), arguments


@pytest.mark.parametrize("form", ["csv", "chrome", "snapshot", "pprof"])
def test_a_dash_is_standard_output(tmp_path: Path, form: str) -> None:
    trace = write(tmp_path)
    command = [VRAMSTOW, "export", trace, "--to", form]
    plain = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path).stdout
    dash = subprocess.run([*command, "-o", "-"], capture_output=True, check=True, cwd=tmp_path)
    assert dash.stdout == plain and len(plain) > 100
    assert list(tmp_path.iterdir()) == [trace]


def test_the_page_goes_to_standard_output_too(tmp_path: Path) -> None:
    trace = write(tmp_path)
    page = vramstow("report", trace, "-o", "-", cwd=tmp_path).stdout
    assert page.startswith("<!") and page.rstrip().endswith("</html>")
    assert list(tmp_path.iterdir()) == [trace]


@pytest.mark.parametrize("form", ["snapshot", "pprof", "perfetto", "csv"])
def test_nothing_binary_goes_to_a_terminal(tmp_path: Path, form: str) -> None:
    trace = write(tmp_path)
    outer, inner = pty.openpty()
    for more in ([], ["-o", "-"]):
        done = subprocess.run(
            [VRAMSTOW, "export", trace, "--to", form, *more],
            stdout=inner,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if form == "csv":
            assert done.returncode == 0
        else:
            assert done.returncode == 2
            assert f"{form} is binary, and standard output is a terminal" in done.stderr
    os.close(inner)
    seen = all_seen(outer)
    assert (b"sequence" in seen) == (form == "csv")
    assert form == "csv" or seen == b""


def test_a_trace_is_no_stream(tmp_path: Path) -> None:
    done = vramstow("convert", write(tmp_path), "-o", "-", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "name one with -o" in done.stderr


def test_convert_keeps_program_and_command(tmp_path: Path) -> None:
    trace = write(tmp_path)
    again = tmp_path / "again.stow"
    assert vramstow("convert", trace, "-o", again).returncode == 0
    before, after = (
        json.loads(vramstow("analyze", "--json", one).stdout)["facts"] for one in (trace, again)
    )
    assert before == after
    assert after["process.program"] == "/usr/bin/write_trace"
    assert after["process.command"] == "write_trace small"


def test_what_export_says_it_wrote_is_there(tmp_path: Path) -> None:
    trace = write(tmp_path)
    out = tmp_path / "run.csv"
    told = json.loads(vramstow("export", trace, "--to", "csv", "-o", out, "--json").stdout)
    assert told == {
        "output": str(out),
        "format": "csv",
        "files": 1,
        "bytes": out.stat().st_size,
    }
    nowhere = vramstow("export", trace, "--to", "csv", "--json")
    assert nowhere.returncode == 2
    assert "-o" in nowhere.stderr


def test_run_sums_up_as_json(tmp_path: Path) -> None:
    # The command is write_trace, which writes a trace as a process that uses CUDA would.
    result = vramstow("run", "--simulate=h100", "--json", "--", WRITE_TRACE, "small", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    [line] = [text for text in result.stderr.splitlines() if text.startswith("{")]
    assert json.loads(line)["peak"]["allocated_bytes"] > 0


def on_a_terminal(*arguments: str | Path, cwd: Path) -> tuple[int, str, str]:
    """Returns exit status, stdout (no terminal) and everything that its stderr, a terminal,
    received."""
    outer, inner = pty.openpty()
    environment = dict(os.environ, TERM="xterm")
    with subprocess.Popen(
        [VRAMSTOW, *arguments], stdout=subprocess.PIPE, stderr=inner, cwd=cwd, env=environment
    ) as process:
        os.close(inner)
        seen = all_seen(outer)
        assert process.stdout is not None
        told = process.stdout.read().decode()
        status = process.wait(timeout=60)
    return status, told, seen.decode()


def test_what_takes_over_a_second_shows_a_line_and_wipes_it_out(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("import time\ntime.sleep(2)\n" + JOB)
    status, told, seen = on_a_terminal(
        *("fit", "--simulate=h100", "--to", "1", "--json"),
        *("--", sys.executable, job, "{batch}"),
        cwd=tmp_path,
    )
    assert status == 0, seen
    assert json.loads(told)["cards"][0]["largest"] == 1
    assert re.search(r"\r\x1b\[Ksimulated run 1: 1 on h100  \d+ s", seen), seen
    for line in seen.split("\n"):
        assert "simulated run" not in line.rpartition("\x1b[K")[2], "nothing of it stays"


def test_what_is_quick_shows_nothing_on_a_terminal(tmp_path: Path) -> None:
    trace = write(tmp_path)
    # One of many attempts must be fast: if other processes use the processor, one may take over a
    # second.
    for _ in range(60):
        status, told, seen = on_a_terminal("analyze", trace, cwd=tmp_path)
        assert status == 0
        assert told != ""
        if seen == "":
            break
    assert seen == ""


def as_another_user(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs vramstow as a user without access to this user's files."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    try:
        return run_vramstow(
            *arguments,
            cwd="/",
            timeout=60,
            user="nobody",
            env={"PATH": os.environ["PATH"]} | environment,
        )
    except PermissionError:
        pytest.skip(f"{VRAMSTOW} cannot be read by others")


@pytest.mark.parametrize("command", ["ctl", "top", "attach"])
def test_a_process_of_another_user_is_told_as_such(command: str) -> None:
    arguments = [command, str(os.getpid()), *(["status"] if command == "ctl" else [])]
    result = as_another_user(*arguments)
    assert result.returncode != 0
    assert "belongs to another user" in result.stderr


class FalseProcess:
    """Answers at a control socket in place of this process, piece by piece."""

    def __init__(self, folder: Path, pieces: list[bytes], seconds: float = 0) -> None:
        path = folder / f"{os.getpid()}.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        path.chmod(0o666)
        self.listener.listen()
        self.pieces = [b"VRAMSTOW/1 OK\n", *pieces]
        self.seconds = seconds
        self.thread = threading.Thread(target=self.answer)
        self.thread.start()

    def answer(self) -> None:
        with contextlib.suppress(OSError):
            client, _ = self.listener.accept()
            with client:
                for piece in self.pieces:
                    client.sendall(piece)
                    time.sleep(self.seconds)

    def __enter__(self) -> FalseProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter, with a short path."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_another_user_cannot_answer_in_place_of_a_process(open_folder: Path) -> None:
    folder = open_folder / f"vramstow-{pwd.getpwnam('nobody').pw_uid}"
    folder.mkdir()
    with FalseProcess(folder, [b"{}"]):
        asked = ("ctl", str(os.getpid()), "stats")
        told = as_another_user(*asked, XDG_RUNTIME_DIR=str(open_folder))
        assert (told.returncode, told.stdout) == (2, "")
        assert "does not belong to this user alone" in told.stderr
        # A folder that is named is trusted, but not a process of another user in it.
        told = as_another_user(*asked, f"--control-dir={folder}")
        assert (told.returncode, told.stdout) == (2, "")
        assert "belongs to another user" in told.stderr


def test_an_answer_that_drips_is_not_awaited_for_ever(open_folder: Path) -> None:
    with FalseProcess(open_folder, [b" "] * 40, seconds=1):
        begin = time.monotonic()
        told = vramstow("ctl", str(os.getpid()), "stats", f"--control-dir={open_folder}")
        assert time.monotonic() - begin < 30
        assert told.returncode == 2
        assert "does not answer" in told.stderr


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_an_answer_cannot_control_the_terminal(json_option: list[str], open_folder: Path) -> None:
    asked = ("ctl", str(os.getpid()), "stats", f"--control-dir={open_folder}", *json_option)
    with FalseProcess(open_folder, [b"\x1b[2Jno answer"]):
        told = vramstow(*asked)
        assert (told.returncode, told.stdout) == (2, "")
        assert "is no JSON" in told.stderr
        assert "\x1b" not in told.stderr
    (open_folder / f"{os.getpid()}.sock").unlink()
    with FalseProcess(open_folder, ['{"program": "\x9b2J\x7f", "devices": []}'.encode()]):
        told = vramstow(*asked)
        assert told.returncode == 0
        assert not set(told.stdout) & {"\x9b", "\x7f"}


@pytest.mark.parametrize("command", [["analyze"], ["export", "--to", "csv"], ["check"]])
def test_the_name_of_a_file_cannot_control_the_terminal(command: list[str], tmp_path: Path) -> None:
    odd = tmp_path / "a\x1b[2J\x9b.stow"
    for _ in range(2):
        told = vramstow(*command, odd)
        assert told.returncode != 0
        assert not set(told.stderr) & {"\x1b", "\x9b"}
        odd.write_bytes(b"no trace")


def test_a_folder_that_cannot_be_read_is_told_as_such(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    result = as_another_user("analyze", tmp_path)
    assert result.returncode == 2
    assert "cannot be read" in result.stderr
