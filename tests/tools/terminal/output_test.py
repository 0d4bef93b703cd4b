"""Commands write files completely or not at all, and do not replace devices."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
from pathlib import Path

import pytest
from built import VRAMSTOW, run_program, run_vramstow
from installation import WRITE_TRACE

LOG = "Thread,Time,Action,Pointer,Size,Stream\n" + "".join(
    f"1,00:00:00.{i:06d},allocate,{hex(65536 * (i + 1))},{512 * (i % 9 + 1)},0\n"
    for i in range(3000)
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    return log


def commands(source: Path, output: Path) -> dict[str, list[str | Path]]:
    exports = ("csv", "rmm", "snapshot", "chrome", "perfetto", "pprof", "folded", "speedscope")
    made: dict[str, list[str | Path]] = {
        f"export {name}": ["export", source, "--to", name, "-o", output] for name in exports
    }
    made["report"] = ["report", source, "-o", output]
    made["convert"] = ["convert", source, "-o", output]
    made["check"] = ["check", source, "--baseline", output, "--update"]
    made["replay"] = ["replay", source, "--models", "native", "--steps", output]
    return made


NAMES = sorted(commands(Path(), Path()))


def run(
    arguments: list[str | Path], most_bytes: int | None = None, *, is_killed: bool = False
) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if most_bytes is None:
            return
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if is_killed else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return run_vramstow(*arguments, timeout=60, preexec_fn=limit)


def one_sentence(result: subprocess.CompletedProcess[str], output: Path) -> None:
    assert result.returncode == 1, result.stderr
    [line] = result.stderr.splitlines()
    assert line.startswith("vramstow ") and str(output) in line and line.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_leaves_what_was_there(source: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    output = folder / "output"
    output.write_text("old")
    one_sentence(run(commands(source, output)[name], most_bytes=16), output)
    assert output.read_text() == "old"
    assert [file.name for file in folder.iterdir()] == ["output"]
    assert run(commands(source, output)[name]).returncode == 0
    assert output.read_bytes() != b"old"
    assert [file.name for file in folder.iterdir()] == ["output"]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_of_a_program_that_died_writing(
    source: Path, tmp_path: Path, name: str
) -> None:
    try:
        os.close(os.open(tmp_path, os.O_WRONLY | os.O_TMPFILE))
    except OSError as error:
        pytest.skip(f"{tmp_path} has no files without a name: {error}")
    folder = tmp_path / "out"
    folder.mkdir()
    output = folder / "output"
    output.write_text("old")
    died = run(commands(source, output)[name], most_bytes=16, is_killed=True)
    assert died.returncode == -signal.SIGXFSZ
    assert output.read_text() == "old"
    assert [file.name for file in folder.iterdir()] == ["output"]


@pytest.mark.parametrize("name", NAMES)
def test_a_device_is_written_and_not_replaced(source: Path, name: str) -> None:
    one_sentence(run(commands(source, Path("/dev/full"))[name]), Path("/dev/full"))
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    assert run(commands(source, Path("/dev/null"))[name]).returncode == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("name", NAMES)
def test_a_link_stays_one(source: Path, tmp_path: Path, name: str) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("old")
    link.symlink_to(there)
    assert run(commands(source, link)[name]).returncode == 0
    assert link.is_symlink()
    assert there.read_bytes() != b"old"


@pytest.mark.parametrize("name", NAMES)
def test_a_link_to_nothing_is_replaced(source: Path, tmp_path: Path, name: str) -> None:
    """Another user could have put it there, so that a file of this user appears elsewhere."""
    there, link = tmp_path / "there", tmp_path / "link"
    link.symlink_to(there)
    assert run(commands(source, link)[name]).returncode == 0
    assert link.is_file() and not link.is_symlink()
    assert not there.exists()


def test_a_link_in_place_of_the_unfinished_file_is_not_followed(
    source: Path, tmp_path: Path
) -> None:
    """Without /proc the unfinished file has a name, which another user can foresee."""
    other, output = tmp_path / "other", tmp_path / "output"
    other.write_text("old")
    script = """
        mount -t tmpfs none /proc && ln -s "$1" "$2.$$.part" && exec "$3" convert "$4" -o "$2"
    """
    done = run_program(
        *("unshare", "--mount", "sh", "-c", script, "sh", other, output, VRAMSTOW, source),
        timeout=60,
    )
    if done.returncode != 0 and "unshare" in done.stderr:
        pytest.skip(f"there are no own mounts: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert other.read_text() == "old"
    assert output.stat().st_size > 0 and not output.is_symlink()
    assert list(tmp_path.glob("*.part")) == []


def test_a_folder_and_a_place_that_is_not_there_are_refused(source: Path, tmp_path: Path) -> None:
    for output in (tmp_path, tmp_path / "no" / "where"):
        for name in NAMES:
            one_sentence(run(commands(source, output)[name]), output)


def test_an_empty_baseline_is_none(source: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name, why in (("empty", "is not a baseline"), ("missing", "No such file")):
        result = run(["check", source, "--baseline", tmp_path / name])
        assert result.returncode == 2
        assert why in result.stderr


def test_a_trace_may_replace_its_input(tmp_path: Path) -> None:
    subprocess.run(
        [WRITE_TRACE, "small"],
        env=os.environ | {"VRAMSTOW_TRACE_DIR": str(tmp_path)},
        check=True,
    )
    [trace] = tmp_path.glob("*.stow")
    assert run(["convert", trace, "-o", trace]).returncode == 0
    assert run(["analyze", trace]).returncode == 0


@pytest.mark.parametrize(
    "arguments", [("analyze",), ("export", "--to", "csv"), ("analyze", "--json"), ("docs",)]
)
@pytest.mark.parametrize("ignored", [False, True])
def test_a_reader_that_has_read_enough_is_no_error(
    source: Path, arguments: tuple[str, ...], ignored: bool
) -> None:
    command = [VRAMSTOW, arguments[0], source, *arguments[1:]]
    if arguments == ("docs",):
        command = [VRAMSTOW, "docs", "metrics"]
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        command,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        # Python ignores SIGPIPE, and a child process inherits this unless restore_signals is set.
        restore_signals=not ignored,
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, "")
