"""Tests vramstow analyze with whole and damaged traces, as text and JSON."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import random
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from built import VRAMSTOW, run_vramstow
from installation import analyze, write
from pseudo_terminal import all_seen


def test_text_and_json_tell_the_same(tmp_path: Path) -> None:
    trace = write(tmp_path)
    facts = json.loads(analyze("--json", trace).stdout)
    assert facts["schema"] == {"name": "vramstow.analysis", "version": 1}
    assert facts["input"]["kind"] == "stow"
    assert facts["input"]["events"] == 4
    assert facts["input"]["complete"] is True
    assert facts["counts"]["allocations"] == 2
    assert facts["peak"]["allocated_bytes"] == 8 * 2**20
    assert facts["by_call"][0]["call"] == "cuMemAlloc"
    text = analyze("--full", trace)
    assert text.returncode == 0
    assert text.stderr == ""
    assert "8.00 MiB allocated" in text.stdout
    assert "libjob.so" in text.stdout
    assert "What is missing" not in text.stdout


def test_several_traces_are_ranks(tmp_path: Path) -> None:
    traces = [write(tmp_path, RANK=rank) for rank in ("1", "0")]
    facts = json.loads(analyze("--json", *traces).stdout)
    assert [rank["process"]["rank"] for rank in facts["ranks"]] == [0, 1]
    assert facts["peak"]["allocated_bytes"] == 16 * 2**20
    assert "rank 0" in analyze(*traces).stdout


def test_a_trace_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    trace = write(tmp_path)
    copy = tmp_path / f"{trace.stem}-oom.stow"
    copy.write_bytes(trace.read_bytes())
    unlike = tmp_path / "." / ".." / tmp_path.name / trace.name
    for named in ([trace, unlike], [trace, copy], [copy, trace], [tmp_path, trace]):
        told = json.loads(analyze("--json", *named).stdout)
        assert told["peak"]["allocated_bytes"] == 8 * 2**20, named
        screen = " ".join(analyze("--full", *named).stdout.split())
        assert "Left out: " in screen, named
    assert "named more than once" in screen


def test_a_trace_that_is_named_like_a_copy_counts_too(tmp_path: Path) -> None:
    trace, other = write(tmp_path), write(tmp_path)
    other = other.rename(tmp_path / f"{trace.stem}-oom.stow")
    told = json.loads(analyze("--json", trace, other).stdout)
    assert told["peak"]["allocated_bytes"] == 16 * 2**20
    assert "Left out: " not in analyze("--full", trace, other).stdout


def test_without_an_input_a_trace_that_is_named_like_a_copy_is_read(tmp_path: Path) -> None:
    old, new = write(tmp_path), write(tmp_path)
    new = new.rename(tmp_path / "train-oom.stow")
    os.utime(old, (1, 1))
    told = json.loads(analyze("--json", cwd=tmp_path).stdout)
    assert told["input"]["file"] == new.name


def test_within_a_folder_the_range_that_is_not_there_is_named(tmp_path: Path) -> None:
    trace = write(tmp_path)
    (tmp_path / "notes.txt").write_text("notes")
    result = analyze("--within", "step", tmp_path)
    assert result.returncode == 2
    assert f"{trace} has no range 'step'" in result.stderr
    assert "without a file" not in result.stderr


def test_without_an_input_a_copy_is_not_taken_for_the_newest_trace(tmp_path: Path) -> None:
    trace = write(tmp_path)
    for tag in ("oom", "dump", "dump-2"):
        copy = tmp_path / f"{trace.stem}-{tag}.stow"
        copy.write_bytes(trace.read_bytes())
        later = trace.stat().st_mtime + 100
        os.utime(copy, (later, later))
    told = json.loads(analyze("--json", cwd=tmp_path).stdout)
    assert told["input"]["file"] == trace.name


def test_a_killed_process_has_a_trace_that_says_so(tmp_path: Path) -> None:
    trace = write(tmp_path, "killed")
    result = analyze("--full", trace)
    assert result.returncode == 0
    assert "8.00 MiB allocated" in result.stdout
    assert "was not closed" in result.stdout


def test_any_truncation_gives_what_is_readable(tmp_path: Path) -> None:
    data = write(tmp_path, "many").read_bytes()
    part = tmp_path / "part.stow"
    events = []
    for size in sorted({0, 1, 8, 64, 4096, len(data) // 3, len(data) // 2, len(data) - 1}):
        part.write_bytes(data[:size])
        result = analyze("--json", part)
        if result.returncode == 2:
            assert size <= 4096, "too little is a trace"
            assert str(part) in result.stderr
            assert result.stderr.count("\n") == 1
            continue
        assert result.returncode == 0, result.stderr
        facts = json.loads(result.stdout)
        events.append(facts["input"]["events"])
    assert events == sorted(events)
    assert events[-1] > 10000


def test_any_damage_gives_what_is_readable(tmp_path: Path) -> None:
    data = write(tmp_path, "many").read_bytes()
    damaged = tmp_path / "damaged.stow"
    dice = random.Random(4)
    told = 0
    for _ in range(30):
        broken = bytearray(data)
        for _ in range(20):
            broken[dice.randrange(4096, len(broken))] ^= 1 << dice.randrange(8)
        damaged.write_bytes(broken)
        result = analyze("--json", damaged)
        assert result.returncode == 0, result.stderr
        facts = json.loads(result.stdout)
        told += not facts["input"]["complete"]
        assert "missing" in analyze(damaged).stdout or facts["input"]["complete"]
    assert told > 15, "damage has to be said"


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x7fELF", b"PK\x03\x04" * 5000])
def test_what_is_no_trace_gets_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    result = analyze(tmp_path / "file")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert str(tmp_path / "file") in result.stderr


def test_what_cannot_be_read_gets_one_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none", tmp_path, tmp_path / "pipe", Path("/dev/null")):
        result = analyze(path)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert str(path) in result.stderr


def test_wrong_arguments_get_one_sentence(tmp_path: Path) -> None:
    for arguments in (["--jsn", "x"], ["--within"]):
        result = analyze(*arguments)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert "vramstow analyze --help" in result.stderr


def test_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    trace = write(tmp_path)
    with open("/dev/full", "w") as full:
        result = analyze(trace, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 1
    assert "No space left" in result.stderr
    closed = subprocess.run(
        ["sh", "-c", f"{VRAMSTOW} analyze {trace} >&-"], capture_output=True, check=False
    )
    assert closed.returncode == 1


def test_the_locale_decides_about_ascii(tmp_path: Path) -> None:
    trace = write(tmp_path)
    plain = analyze(trace, env={"LC_ALL": "C"})
    assert plain.stdout.isascii()
    assert "#" in plain.stdout
    assert "█" in analyze(trace, env={"LANG": "en_US.UTF-8"}).stdout


def on_a_terminal(trace: Path, columns: int, *arguments: str, **variables: str) -> str:
    """Returns the text of analyze on a terminal of this width with 24 lines."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {key: text for key, text in os.environ.items() if key != "NO_COLOR"}
    environment |= {"TERM": "xterm", "LC_ALL": "C.UTF-8"} | variables
    with subprocess.Popen(
        [VRAMSTOW, "analyze", trace, *arguments], stdout=inner, env=environment
    ) as process:
        os.close(inner)
        seen = all_seen(outer)
        assert process.wait(timeout=60) == 0
    return seen.decode()


@pytest.mark.parametrize("columns", [60, 150])
def test_a_terminal_has_its_own_width_and_colours(tmp_path: Path, columns: int) -> None:
    trace = write(tmp_path)
    for arguments in ([], ["--full"]):
        seen = on_a_terminal(trace, columns, *arguments)
        assert "\x1b[1m" in seen and "\x1b[0m" in seen
        [title] = [line for line in seen.splitlines() if "Device memory over time" in line]
        assert len(re.sub("\x1b\\[[0-9;]*m", "", title)) in (columns, columns - 1)
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b" not in on_a_terminal(trace, columns, *arguments, **variables)
    assert "\x1b" not in analyze(trace).stdout


def test_one_screen_says_where_everything_else_is(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    text = analyze(trace).stdout
    assert text.count("\n") < 40
    full = f"vramstow analyze --full {trace}"
    assert full in text
    for section in ("By kind of memory", "By call", "Sizes of device allocations"):
        assert section not in text
        assert section in analyze("--full", trace).stdout


def test_the_program_itself() -> None:
    def program(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_vramstow(*arguments)

    told = program("--version").stdout
    assert re.fullmatch(r"vramstow [\d.]+ \(commit (unknown|[0-9a-f]{12}), .+\)\n", told), told
    for command in ([], ["run"], ["analyze"], ["export"]):
        text = program(*command, "--help")
        assert text.returncode == 0
        assert "Example" in text.stdout
        assert text.stdout.endswith("\n")
    for wrong in ([], ["conjure"], ["--frobnicate"]):
        result = program(*wrong)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert "vramstow --help" in result.stderr


def test_a_cut_trace_says_how_much_is_missing(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    whole = trace.read_bytes()
    part = tmp_path / "part.stow"
    part.write_bytes(whole[: len(whole) - 4096])
    told = " ".join(analyze(part).stdout.split())
    assert re.search(
        r"The file is incomplete: the last 4.00 KiB of [\d.]+ [KM]iB are not there\.", told
    )
    assert "is cut" not in analyze(trace).stdout
