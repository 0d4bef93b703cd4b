"""Under vramstow run the command gets the same signals as without it, and none twice."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from installation import Installation

# A program that writes the name of each signal that it receives, and exits with 40 + the number of
# signals at SIGTERM. It does not use print(), which a handler may not call while print() is
# running, nor pause(), which misses a signal that came just before.
LISTENER = """
import os, signal, time
got = []
def say(text):
    os.write(1, (text + "\\n").encode())
def note(number, frame):
    got.append(number)
    say(signal.Signals(number).name)
    if number == signal.SIGTERM:
        os._exit(40 + len(got))
for name in ("INT", "QUIT", "HUP", "USR1", "USR2", "TERM", "ALRM", "WINCH", "RTMIN"):
    signal.signal(getattr(signal, "SIG" + name), note)
say(f"ready {os.getpid()}")
while True:
    time.sleep(0.05)
"""


class Job:
    """A program that records signals, under vramstow run."""

    def __init__(self, place: Installation, script: str = LISTENER, **options: object) -> None:
        self.process = subprocess.Popen(  # type: ignore[call-overload]
            [place.program, "run", "--", sys.executable, "-S", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=place.environment(),
            **options,
        )
        self.child = int(self.line().split()[1])

    def line(self) -> str:
        return self.process.stdout.readline().rstrip("\n")

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        self.send(signal.SIGTERM)
        assert self.line() == "SIGTERM"
        self.process.communicate(timeout=30)
        return self.process.returncode - 41


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["INT", "QUIT", "HUP", "USR1", "USR2", "ALRM", "WINCH", "RTMIN"])
def test_a_signal_to_vramstow_alone_is_passed_on_once(vramstow: Installation, name: str) -> None:
    job = Job(vramstow)
    number = getattr(signal, "SIG" + name)
    job.send(number)
    assert job.line() == signal.Signals(number).name
    assert job.end() == 1


def test_the_commands_answer_to_sigterm_is_its_own(vramstow: Installation) -> None:
    assert Job(vramstow).end() == 0


# A process group as a shell makes it for a job. A group whose parent is in another session would
# ignore SIGTSTP.
OWN_GROUP = {"preexec_fn": lambda: os.setpgid(0, 0)}


def test_stopping_and_continuing(vramstow: Installation) -> None:
    job = Job(vramstow, **OWN_GROUP)
    os.kill(job.child, signal.SIGTSTP)
    wait_until(lambda: state(job.child) == "T" and state(job.process.pid) == "T")
    job.send(signal.SIGCONT)
    wait_until(lambda: state(job.child) == "S" and state(job.process.pid) == "S")
    assert job.end() == 0


def test_a_command_alone_may_be_stopped_and_continued(vramstow: Installation) -> None:
    job = Job(vramstow, **OWN_GROUP)
    os.kill(job.child, signal.SIGSTOP)
    wait_until(lambda: state(job.child) == "T")
    job.send(signal.SIGUSR1)
    time.sleep(0.3)  # vramstow notices the stop at once
    stopped = state(job.process.pid) == "T"
    os.kill(job.child, signal.SIGCONT)
    if stopped:
        job.send(signal.SIGCONT)
    assert job.line() == "SIGUSR1"
    assert job.end() == 1
    assert not stopped, "nobody would continue vramstow"


RESTORING = """
import os, signal, time
def stop(*_):
    os.write(1, b"restored\\n")
    os.kill(os.getpid(), signal.SIGSTOP)
signal.signal(signal.SIGTSTP, stop)
signal.signal(signal.SIGUSR1, lambda *_: os.killpg(0, signal.SIGTSTP))
os.write(1, f"ready {os.getpid()}\\n".encode())
while True:
    time.sleep(0.05)
"""


def test_vramstow_stops_with_a_command_that_stops_itself_after_sigtstp(
    vramstow: Installation,
) -> None:
    job = Job(vramstow, RESTORING, **OWN_GROUP)
    for _ in range(2):
        # As a terminal does, the command stops the group: nobody passes these signals on.
        os.kill(job.child, signal.SIGUSR1)
        assert job.line() == "restored"
        wait_until(lambda: state(job.child) == "T" and state(job.process.pid) == "T")
        os.killpg(job.process.pid, signal.SIGCONT)
        wait_until(lambda: state(job.child) == "S" and state(job.process.pid) == "S")
    job.send(signal.SIGTERM)
    job.process.communicate(timeout=30)
    assert job.process.returncode == -signal.SIGTERM


def test_a_quick_stop_and_continue_leaves_nobody_behind(vramstow: Installation) -> None:
    job = Job(vramstow, **OWN_GROUP)
    for _ in range(100):
        os.kill(job.child, signal.SIGTSTP)
        os.kill(job.child, signal.SIGCONT)
    # If a program stopped the command by its process id, vramstow continues the whole group at the
    # end, as a shell does.
    wait_until(lambda: state(job.child) == "S")
    os.killpg(job.process.pid, signal.SIGCONT)
    wait_until(lambda: state(job.process.pid) == "S")
    assert job.end() == 0


def test_a_command_survives_the_death_of_vramstow(vramstow: Installation, tmp_path: Path) -> None:
    script = f"""
import os, pathlib, signal, time
print("ready", os.getpid(), flush=True)
time.sleep(0.5)
pathlib.Path({str(tmp_path / "done")!r}).write_text("done")
"""
    job = Job(vramstow, script)
    job.send(signal.SIGKILL)
    job.process.wait()
    wait_until(lambda: (tmp_path / "done").exists())


def test_a_command_may_signal_its_parent_and_its_group(vramstow: Installation) -> None:
    script = """
import os, signal
got = []
signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
os.kill(os.getppid(), signal.SIGUSR1)
os.kill(0, signal.SIGUSR1)
import time
time.sleep(0.3)
raise SystemExit(len(got))
"""
    result = vramstow.run("run", "--", sys.executable, "-S", "-c", script, start_new_session=True)
    assert result.returncode == 1, "the one to the group, and no echo of the other"


def test_masks_and_ignored_signals_are_as_without(vramstow: Installation) -> None:
    show = "grep -E '^(Sig(Blk|Ign|Cgt)|ShdPnd|SigPnd)' /proc/self/status"
    setup = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]);"
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    before = [sys.executable, "-S", "-c", setup]
    # `true` follows, so sh starts grep as a child process instead of replacing itself by grep, with
    # and without vramstow.
    command = ["sh", "-c", show + "; true"]
    env = vramstow.environment()
    without = subprocess.run([*before, *command], env=env, capture_output=True, check=True)
    run = [vramstow.program, "run", "--", *command]
    with_it = subprocess.run([*before, *run], env=env, capture_output=True, check=True)
    assert with_it.stdout == without.stdout


def test_an_exit_status_is_not_lost_where_sigchld_is_ignored(vramstow: Installation) -> None:
    setup = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    command = [vramstow.program, "run", "--", "sh", "-c", "exit 9"]
    result = subprocess.run(
        [sys.executable, "-S", "-c", setup, *command], env=vramstow.environment(), check=False
    )
    assert result.returncode == 9


class Terminal:
    """vramstow run as the foreground group of a separate terminal."""

    def __init__(self, place: Installation, script: str) -> None:
        command = [str(place.program), "run", "--", sys.executable, "-S", "-c", script]
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, place.environment())
        self.text = ""

    def read_until(self, word: str) -> None:
        while word not in self.text:
            self.text += os.read(self.descriptor, 4096).decode()

    def type(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def wait(self) -> int:
        try:
            while data := os.read(self.descriptor, 4096):
                self.text += data.decode()
        except OSError:
            pass  # the terminal is gone with its last process
        return os.waitpid(self.pid, 0)[1]


def test_control_c_reaches_the_command_once(vramstow: Installation) -> None:
    terminal = Terminal(vramstow, LISTENER)
    terminal.read_until("ready")
    for _ in range(3):
        terminal.type(b"\x03")
        terminal.read_until("SIGINT")
        terminal.text = terminal.text.replace("SIGINT", "", 1)
    terminal.type(b"\x1c")
    terminal.read_until("SIGQUIT")
    os.kill(terminal.pid, signal.SIGTERM)
    status = terminal.wait()
    assert os.waitstatus_to_exitcode(status) == 40 + 3 + 1 + 1
    assert terminal.text.count("SIGINT") == 0


def test_a_command_that_dies_of_control_c_is_killed_by_sigint(vramstow: Installation) -> None:
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL);"
        "print('ready', flush=True); signal.pause()"
    )
    terminal = Terminal(vramstow, script)
    terminal.read_until("ready")
    terminal.type(b"\x03")
    assert os.waitstatus_to_exitcode(terminal.wait()) == -signal.SIGINT
    assert "no CUDA call was seen" in terminal.text, "the summary comes all the same"


def test_a_terminal_that_is_closed_hangs_up_the_command_once(
    vramstow: Installation, tmp_path: Path
) -> None:
    # vramstow leads the session here, as under ssh -t: only the leader gets SIGHUP.
    script = f"""
import os, signal, time
def note(number, frame):
    with open({str(tmp_path / "hung-up")!r}, "a") as file:
        file.write("SIGHUP")
    signal.alarm(1)
signal.signal(signal.SIGHUP, note)
signal.signal(signal.SIGALRM, lambda number, frame: os._exit(43))
open({str(tmp_path / "ready")!r}, "w").close()
while True:
    time.sleep(0.05)
"""
    terminal = Terminal(vramstow, script)
    wait_until((tmp_path / "ready").exists)
    os.close(terminal.descriptor)
    ended: list[int] = []

    def has_ended() -> bool:
        pid, status = os.waitpid(terminal.pid, os.WNOHANG)
        if pid != 0:
            ended.append(os.waitstatus_to_exitcode(status))
        return pid != 0

    try:
        wait_until(has_ended)
    finally:
        if not ended:
            os.killpg(terminal.pid, signal.SIGKILL)
    assert ended == [43]
    assert (tmp_path / "hung-up").read_text() == "SIGHUP"
