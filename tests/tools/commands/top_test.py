"""Tests vramstow top, which shows running processes from their traces."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, run_program, run_vramstow
from installation import CUDA_BEGINS, WRITE_TRACE, write

pytestmark = pytest.mark.usefixtures("own_runtime_folder")

JOB = f"""{CUDA_BEGINS}
for line in sys.stdin:
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(line) << 20)) == 0
    print("took", line, flush=True)
"""


class Job:
    """A process that allocates the number of MiB that it is given."""

    def __init__(self, folder: Path, *flags: str, program: str | Path = sys.executable) -> None:
        self.traces = folder / "traces"
        self.traces.mkdir()
        self.process = subprocess.Popen(
            [
                VRAMSTOW,
                "run",
                "--simulate=h200",
                f"--trace-dir={self.traces}",
                *flags,
                "--",
                program,
                "-c",
                JOB,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def take(self, mebi: int) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{mebi}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().startswith("took")
        self.process.stdout.readline()

    @property
    def pid(self) -> int:
        [trace] = self.traces.glob("*.stow")
        return int(trace.stem.rpartition("-")[2])

    def end(self) -> None:
        if self.process.poll() is None and self.process.stdin:
            self.process.stdin.close()
            self.process.wait(timeout=120)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    job = Job(tmp_path)
    yield job
    job.end()


def top(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_vramstow("top", *map(str, arguments), timeout=120)


def seen(target: object) -> dict[str, Any]:
    result = top(target, "--json")
    assert result.returncode == 0, result.stderr
    [process] = json.loads(result.stdout)["processes"]
    return process


def test_what_a_process_holds_is_seen_while_it_runs(job: Job) -> None:
    job.take(48)
    pid = job.pid
    for target in (job.traces, pid):
        process = seen(target)
        assert process["pid"] == pid
        assert process["runs"]
        assert process["allocated_bytes"] == process["reserved_bytes"] == 48 << 20
    job.take(16)
    assert seen(pid)["allocated_bytes"] == 64 << 20
    page = top(pid, "--once").stdout
    assert "64.0 MiB" in page and "runs" in page and str(pid) in page
    job.end()
    process = seen(job.traces)
    assert not process["runs"]
    assert process["peak_reserved_bytes"] == 64 << 20


HOLDS = """
import os, sys
name = f"traces/job-{os.getpid()}.stow"
os.rename(sys.argv[1], name)
with open(name):
    print("holds", flush=True)
    sys.stdin.readline()
"""


def test_a_trace_in_a_folder_that_has_two_names_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "link").symlink_to("traces")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, write(tmp_path)],
        cwd=tmp_path,
        env=os.environ | {"VRAMSTOW_TRACE_DIR": str(tmp_path / "link")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as job:
        assert job.stdout and job.stdout.readline() == "holds\n"
        process = seen(job.pid)
        job.communicate("")
    assert Path(process["file"]).parent == tmp_path / "traces"


@pytest.fixture
def pooled(tmp_path: Path) -> Iterator[Job]:
    job = Job(tmp_path, "--pool=on", f"--control-dir={tmp_path / 'sockets'}")
    job.take(16)
    yield job
    # vramstow run stops with its command, so that a shell notices.
    for process in (job.pid, job.process.pid):
        os.kill(process, signal.SIGCONT)
    job.end()


def test_the_pool_of_a_process_is_asked_wherever_its_socket_is(pooled: Job) -> None:
    assert seen(pooled.pid)["pool_pending_bytes"] == 0
    told = run_vramstow("ctl", "--json", pooled.pid, "stats", check=True)
    assert json.loads(told.stdout)["devices"][0]["of"] == "pool"


FREES = f"""{CUDA_BEGINS}
blocks = [ctypes.c_uint64() for _ in range(5)]
for block in blocks:
    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(64 << 20)) == 0
assert cuda.cuMemFree_v2(blocks[2]) == 0
print("freed", flush=True)
sys.stdin.readline()
"""


def test_memory_that_no_work_uses_is_not_pending(tmp_path: Path) -> None:
    sockets = f"--control-dir={tmp_path / 'sockets'}"
    flags = ["--simulate=h200", "--pool=on", sockets, f"--trace-dir={tmp_path}"]
    job = subprocess.Popen(
        [VRAMSTOW, "run", *flags, "--", sys.executable, "-c", FREES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert job.stdout and job.stdout.readline() == "freed\n"
    try:
        process = seen(tmp_path)
        assert (process["allocated_bytes"], process["pool_pending_bytes"]) == (256 << 20, 0)
    finally:
        job.communicate("\n", timeout=120)


def test_a_device_without_numbers_is_said_to_be_one(pooled: Job) -> None:
    for device, why in (("0", None), ("3", "no memory was requested on device 3 yet")):
        told = run_vramstow("ctl", "--json", pooled.pid, "stats", device, check=True)
        assert json.loads(told.stdout).get("why_none") == why
    assert f"no numbers: {why}" in run_vramstow("ctl", pooled.pid, "stats", "3").stdout


def test_the_name_of_a_program_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / 'so-called "py\\thon"'
    shutil.copy(Path(sys.executable).resolve(), program)
    monkeypatch.setenv("PYTHONHOME", sys.base_prefix)
    job = Job(tmp_path, "--pool=on", f"--control-dir={tmp_path / 'sockets'}", program=program)
    job.take(1)
    [trace] = job.traces.glob("*.stow")
    told = run_vramstow("ctl", "--json", trace.stem.rpartition("-")[2], "stats")
    job.end()
    # Only a blank is replaced.
    assert json.loads(told.stdout)["program"] == 'so-called?"py\\thon"', told.stderr


def test_a_stopped_process_does_not_delay_the_view(pooled: Job) -> None:
    pid = pooled.pid
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    for _ in range(8):  # each waited for ten seconds where the process was asked
        assert seen(pid)["pool_pending_bytes"] is None
    assert time.monotonic() - began < 60


def test_without_a_target_all_processes_of_the_host_are_shown(job: Job) -> None:
    job.take(48)
    for flags in ([], ["--once"]):
        page = top(*flags)
        assert (page.returncode, page.stderr) == (0, "")
        assert re.search(rf"^ *{job.pid} +- runs +48.0 MiB", page.stdout, re.MULTILINE)
    assert job.pid in [one["pid"] for one in json.loads(top("--json").stdout)["processes"]]
    job.end()
    # Jobs of other tests may be running on this host.
    assert not re.search(rf"^ *{job.pid} ", top().stdout, re.MULTILINE)


def test_a_terminal_is_kept_up_to_date_and_given_back(job: Job) -> None:
    job.take(48)
    master, slave = pty.openpty()
    shown = subprocess.Popen(
        [VRAMSTOW, "top", str(job.pid), "--interval", "0.1"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    text = b""

    def read_until(words: bytes) -> None:
        nonlocal text
        text = b""
        deadline = time.monotonic() + 120
        while words not in text:
            assert time.monotonic() < deadline, text
            if select.select([master], [], [], 0.5)[0]:
                try:
                    text += os.read(master, 65536)
                except OSError:
                    break
        assert words in text

    read_until(b"48.0 MiB allocated")
    job.take(32)
    read_until(b"80.0 MiB allocated")
    os.write(master, b"p")
    read_until(b"sorted by peak")
    os.write(master, b"q")
    read_until(b"\x1b[?1049l")
    assert shown.wait(timeout=120) == 0
    os.close(master)


def test_an_interrupt_gives_the_terminal_back_too(job: Job) -> None:
    job.take(1)
    master, slave = pty.openpty()
    shown = subprocess.Popen([VRAMSTOW, "top", str(job.traces)], stdin=slave, stdout=slave)
    os.close(slave)
    text = b""
    while b"allocated" not in text:
        text += os.read(master, 65536)
    shown.send_signal(signal.SIGINT)
    while b"\x1b[?1049l" not in text:
        text += os.read(master, 65536)
    assert shown.wait(timeout=120) == 0
    os.close(master)


def read_until(terminal: int, *words: bytes) -> None:
    text = b""
    deadline = time.monotonic() + 60
    while not all(word in text for word in words):
        assert time.monotonic() < deadline, text
        if select.select([terminal], [], [], 0.5)[0]:
            text += os.read(terminal, 65536)


def test_a_stop_gives_the_terminal_back_until_it_is_continued(job: Job) -> None:
    job.take(1)
    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)
    # The kernel does not stop a process group by SIGTSTP if nobody could continue it.
    shown = subprocess.Popen(
        [VRAMSTOW, "top", str(job.traces)], stdin=slave, stdout=slave, process_group=0
    )
    try:
        for _ in range(2):
            read_until(master, b"\x1b[?1049h", b"allocated")
            assert termios.tcgetattr(slave)[3] != modes[3]
            shown.send_signal(signal.SIGTSTP)
            assert os.WIFSTOPPED(os.waitpid(shown.pid, os.WUNTRACED)[1])
            read_until(master, b"\x1b[?1049l")
            assert termios.tcgetattr(slave) == modes
            shown.send_signal(signal.SIGCONT)
        read_until(master, b"\x1b[?1049h", b"allocated")
        shown.send_signal(signal.SIGINT)
        assert shown.wait(timeout=120) == 0
    finally:
        shown.kill()
    os.close(slave)
    os.close(master)


def page_of_terminal(columns: int, *arguments: object) -> list[str]:
    """Returns the lines that are printed on a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run(
        [VRAMSTOW, "top", "--once", *map(str, arguments)], stdout=slave, timeout=120, check=True
    )
    os.close(slave)
    text = b""
    while select.select([master], [], [], 1)[0]:
        try:
            text += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    return text.decode().splitlines()


def test_a_narrow_terminal_gets_whole_numbers_and_names(tmp_path: Path) -> None:
    for rank in range(2):
        write(tmp_path, "small", RANK=str(rank))
    processes = json.loads(top(tmp_path, "--json").stdout)["processes"]
    for columns, missing in ((80, set()), (70, {"EVENTS"}), (60, {"EVENTS", "RANK"})):
        lines = page_of_terminal(columns, tmp_path)
        assert max(map(len, lines)) <= columns
        assert not any(".." in line for line in lines[:4]), lines
        assert missing.isdisjoint(lines[1].split())
        for line, process in zip(lines[2:4], processes, strict=True):
            assert line.split()[0] == str(process["pid"])
            assert line.endswith("  write_trace")
    assert page_of_terminal(30, tmp_path)[1].split() == ["PID", "ALLOCATED", "PROGRAM"]


def test_a_program_of_python_has_the_name_of_its_script(tmp_path: Path) -> None:
    script = tmp_path / "train_it.py"
    script.write_text(f"{CUDA_BEGINS}\n")
    flags = ["--simulate=h200", "--quiet", f"--trace-dir={tmp_path}"]
    subprocess.run([VRAMSTOW, "run", *flags, "--", sys.executable, script], timeout=120, check=True)
    assert seen(tmp_path)["program"] == "train_it"
    assert re.search(r" train_it$", top(tmp_path).stdout, re.MULTILINE)
    # If the trace was renamed, nothing else gives the name of the script.
    [trace] = tmp_path.glob("*.stow")
    trace.rename(tmp_path / "mine.stow")
    assert seen(tmp_path)["program"].startswith("python")


EXECUTES_ITSELF = f"""import os
{CUDA_BEGINS}
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(16 << 20)) == 0
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
print("took", flush=True)
sys.stdin.readline()
"""


def test_a_process_that_executes_another_program_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(EXECUTES_ITSELF)
    flags = ["--simulate=h200", "--quiet", f"--trace-dir={tmp_path}"]
    job = subprocess.Popen(
        [VRAMSTOW, "run", *flags, "--", sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert job.stdout
    assert job.stdout.readline() == "took\n"
    try:
        processes = json.loads(top(tmp_path, "--json").stdout)["processes"]
        assert [process["runs"] for process in processes] == [True, False]
        assert len({process["pid"] for process in processes}) == 1
        assert "1 of 2 run, 16.0 MiB allocated" in top(tmp_path).stdout
    finally:
        job.communicate("\n", timeout=120)


def test_a_process_that_only_waits_to_be_reaped_does_not_run(tmp_path: Path) -> None:
    killed = subprocess.Popen(
        [WRITE_TRACE, "killed"], env=os.environ | {"VRAMSTOW_TRACE_DIR": str(tmp_path)}
    )
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    assert seen(tmp_path)["pid"] == killed.pid
    assert not seen(tmp_path)["runs"]
    killed.wait()


# In a namespace of their own, two processes have the same id one after the other.
SAME_ID = """
echo 100 > /proc/sys/kernel/ns_last_pid && "$1" killed
echo 100 > /proc/sys/kernel/ns_last_pid && sleep 600 &
sleep 0.5
cat /proc/101/comm
exec "$2" top "$VRAMSTOW_TRACE_DIR" --json
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_trace_does_not_run_because_another_process_has_its_id(tmp_path: Path) -> None:
    alone = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]
    for age in (0, 3600):
        folder = tmp_path / str(age)
        folder.mkdir()
        start = time.time_ns() - age * 10**9
        env = {"VRAMSTOW_TRACE_DIR": str(folder), "START_TIME": str(start)}
        result = run_program(
            *[*alone, "bash", "-c", SAME_ID, "bash", WRITE_TRACE, VRAMSTOW],
            env=os.environ | env,
            timeout=120,
        )
        name, _, told = result.stdout.partition("\n")
        if name != "sleep":
            pytest.skip("a process cannot get a chosen id here")
        [process] = json.loads(told)["processes"]
        assert (process["pid"], process["runs"]) == (101, age == 0)


def test_a_trace_of_another_host_does_not_run_here(job: Job) -> None:
    job.take(1)
    alone = ["unshare", "--map-root-user", "--uts"]
    if run_program(*alone, "hostname", "elsewhere").returncode != 0:
        pytest.skip("a host cannot be given another name here")
    command = f"hostname elsewhere && exec {VRAMSTOW} top {job.traces} --json"
    told = run_program(*alone, "sh", "-c", command).stdout
    assert [process["runs"] for process in json.loads(told)["processes"]] == [False]


def test_a_folder_may_have_the_name_of_a_number(tmp_path: Path) -> None:
    folder = tmp_path / "2024"
    folder.mkdir()
    write(folder)
    told = run_program(VRAMSTOW, "top", "2024", "--json", cwd=tmp_path)
    assert len(json.loads(told.stdout)["processes"]) == 1
    # These numbers are not cut to the number of a process that runs.
    for number in (2**32 + 1, 2**32 + os.getpid()):
        assert f"there is no process {number}." in top(number).stderr


def test_several_ranks_are_listed_those_that_hold_most_first(tmp_path: Path) -> None:
    for rank in range(3):
        write(tmp_path, "killed" if rank == 1 else "small", RANK=str(rank))
    told = json.loads(top(tmp_path, "--json").stdout)["processes"]
    assert sorted(process["rank"] for process in told) == [0, 1, 2]
    assert all(not process["runs"] for process in told)
    page = top(tmp_path).stdout
    assert page.count("ended") == 2 and page.count("killed") == 1


def test_a_copy_of_a_trace_is_no_further_process(tmp_path: Path) -> None:
    trace = write(tmp_path)
    for tag in ("oom", "dump", "dump-2"):
        shutil.copy(trace, tmp_path / f"{trace.stem}-{tag}.stow")
    assert seen(tmp_path)["file"] == str(trace)


def test_a_page_that_is_not_shown_on_a_terminal_is_whole(tmp_path: Path) -> None:
    trace = write(tmp_path)
    for number in range(70):
        shutil.copy(trace, tmp_path / f"job-{number}.stow")
    for flags in ([], ["--once"]):
        assert top(tmp_path, *flags).stdout.count(" ended ") == 71


def order(*arguments: object) -> list[int]:
    told = json.loads(top(*arguments, "--json").stdout)["processes"]
    return [process["rank"] for process in told]


def test_processes_are_sorted_as_is_asked_for(tmp_path: Path) -> None:
    for rank, kind in ((2, "small"), (0, "many"), (1, "killed")):
        write(tmp_path, kind, RANK=str(rank))
    told = json.loads(top(tmp_path, "--json").stdout)["processes"]
    for name, key, sign in (
        ("allocated", "allocated_bytes", -1),
        ("reserved", "reserved_bytes", -1),
        ("peak", "peak_reserved_bytes", -1),
        ("events", "events", -1),
        ("oom", "out_of_memory", -1),
        ("rank", "rank", 1),
        ("pid", "pid", 1),
    ):
        ranks = order(tmp_path, "--sort", name)
        values = [
            sign * process[key] for rank in ranks for process in told if process["rank"] == rank
        ]
        assert values == sorted(values), name
        assert f"sorted by {name}" in top(tmp_path, "--sort", name).stdout.splitlines()[0]
    assert order(tmp_path, "--sort", "rank") == [0, 1, 2] != order(tmp_path, "--sort", "events")
    wrong = top(tmp_path, "--sort", "colour")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "colour" in wrong.stderr and "allocated" in wrong.stderr


def test_nothing_to_see_gets_one_sentence(tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "none", os.getpid(), 2**22 + 1):
        result = top(target)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""
