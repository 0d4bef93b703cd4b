"""`vramstow attach` looks into a process that was started without vramstow, and detaches again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import VRAMSTOW, run_program
from conftest import (
    PATIENCE,
    PYTHON,
    Job,
    Start,
    attach,
    facts,
    plain_environment,
    torch_folder,
    wait_until,
)

MIB = 1 << 20


@contextlib.contextmanager
def killed_at_end(command: list, **options: object) -> Iterator[subprocess.Popen]:
    """Runs a command that is killed at the end, so that a failed check does not wait for it."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """Compiles the libraries for an attachment once, before anything is measured."""
    ask = "import sys; print(sys.version_info >= (3, 9))"
    told = run_program(PYTHON, "-c", ask, check=True)
    if told.stdout.strip() != "True":
        pytest.skip("there is no census for this Python")
    for kind in ("--observer", "--census"):
        subprocess.run(
            [VRAMSTOW, "adapter", "build", "--quiet", kind, "--torch", torch_folder()],
            check=True,
            capture_output=True,
        )


def test_it_says_who_holds_the_memory_and_leaves_the_process_as_it_was(
    start: Start, tmp_path: Path
) -> None:
    job = start("grows.py")
    threads = job.count("task")

    def census() -> dict:
        answer = json.loads(attach(job.pid, "--census", "--json"))
        holders = {row["holder"]: row["bytes"] for row in answer["holders"]}
        assert holders["global weights[0..7]"] == 8 * MIB, holders
        assert any(name.startswith("global history[0..") for name in holders)
        return answer

    # An idle machine needs 8 ms. On a busy one it may take some attempts.
    wait_until(lambda: census()["stopped_ms"] < 500)
    # The thread in which the process answered ends afterwards. On a busy machine that may take a
    # while.
    job.wait_for("task", threads)
    descriptors = job.count("fd")
    attach(job.pid, "--census")
    job.wait_for("task", threads)
    assert job.count("fd") == descriptors
    assert job.process.poll() is None
    assert not list(Path("/tmp").glob(f"vramstow-attach-*/*{job.pid}.stow"))
    assert job.end() == 0


def test_growth_names_the_holder_and_the_line(start: Start) -> None:
    job = start("grows.py")
    for seconds in (2, 10, 60):  # on a busy machine the program may make no step in a short time
        answer = json.loads(attach(job.pid, "--growth", "--every", f"{seconds}s", "--json"))
        if answer["holders"] and answer["holders"][0]["grown_bytes"] > 0:
            break
    first = answer["holders"][0]
    assert first["holder"] == "global history[*]"
    assert first["grown_bytes"] == first["grown_blocks"] * MIB > 0
    lines = {row["site"]: row for row in answer["lines"]}
    source = (Path(__file__).parent / "programs/grows.py").read_text().splitlines()
    number = next(i for i, line in enumerate(source, 1) if "history.append" in line)
    line = lines[f"grows.py:{number} step"]
    # The observation began before the first census (reference scan). The program makes one block at
    # a time. So at most one block may have been allocated before the observation and appended to
    # the list after the first census.
    assert line["blocks"] >= first["grown_blocks"] - 1
    assert line["bytes"] == line["blocks"] * MIB
    grown = r"\+[\d.]+ MiB, now [\d.]+ MiB in \d+ blocks: global history\[\*\]"
    for seconds in (2, 10, 60):
        text = attach(job.pid, "--growth", "--every", f"{seconds}s")
        if re.search(grown, text):
            break
    assert re.search(grown, text)


ONE_OF_TWO = {"VRAMSTOW_SIMULATED_CARD": "h200,count=2", "GROWS_ON": "cuda:1"}


@pytest.mark.parametrize(
    "settings", [{}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, ONE_OF_TWO]
)
def test_what_was_there_and_what_came_later_add_up_to_what_pytorch_says(
    start: Start, tmp_path: Path, settings: dict[str, str]
) -> None:
    job = start("grows.py", env=settings)
    job.wait_for_steps(10)
    trace = Path(json.loads(attach(job.pid, "--json", "--trace-dir", tmp_path / "t"))["trace"])
    job.wait_for_steps(30)
    job.tell("stop")
    steps, allocated, reserved = map(int, job.line().split())
    attach(job.pid, "--detach")
    [told] = [device for device in facts(trace)["devices"] if device["bytes_at_end"] > 0]
    assert told["bytes_at_end"] == allocated
    assert told["reserved_bytes_at_end"] == reserved
    assert steps >= 40


def test_it_observes_for_a_time_and_tells_where_the_memory_went(
    start: Start, tmp_path: Path
) -> None:
    job = start("grows.py")
    text = attach(job.pid, "--for", "2s", "--trace-dir", tmp_path)
    assert "grows.py" in text
    (trace,) = tmp_path.glob("*.stow")
    sites = {row["operation"]: row for row in facts(trace)["by_site"]}
    assert sites["there before vramstow came"]["bytes_at_peak"] > 8 * MIB, sites


def test_a_process_that_ends_before_the_time_is_over_is_analysed_at_once(
    start: Start, tmp_path: Path
) -> None:
    job = start("grows.py")
    command = [VRAMSTOW, "attach", str(job.pid), "--for", "3600s", "--trace-dir", str(tmp_path)]
    command.append(f"--patience={PATIENCE}s")
    with killed_at_end(command, stdout=subprocess.PIPE, text=True) as attached:
        wait_until(lambda: bool(list(tmp_path.glob("*.stow"))))
        job.wait_for_steps(50)  # the request has been answered by then
        # Nobody waits for the process, so that it stays in the table of processes.
        job.process.send_signal(signal.SIGKILL)
        text, _ = attached.communicate(timeout=PATIENCE)
    assert attached.returncode == 0
    assert "grows.py" in text


def test_an_observation_that_was_there_before_goes_on(start: Start, tmp_path: Path) -> None:
    job = start("grows.py")
    attach(job.pid, "--trace-dir", tmp_path)
    assert "grows.py" in attach(job.pid, "--for", "1s")
    asked = [VRAMSTOW, "ctl", str(job.pid), "census", "--json"]
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 0
    attach(job.pid, "--detach")


def test_a_first_census_that_fails_is_reported_at_once(start: Start, tmp_path: Path) -> None:
    job = start("grows.py")
    # The folder has an observer but no census, and no compiler can be found to make one.
    env = os.environ | {"VRAMSTOW_ADAPTER_DIR": str(tmp_path / "adapters")}
    build = [VRAMSTOW, "adapter", "build", "--quiet", "--observer", "--torch", torch_folder()]
    run_program(*build, check=True, env=env)
    command = [VRAMSTOW, "attach", job.pid, "--growth", "--every", "3600s"]
    command.append(f"--patience={PATIENCE}s")
    told = run_program(*command, env=env | {"PATH": "/none"}, timeout=PATIENCE)
    assert told.returncode == 2, told.stderr
    assert "census" in told.stderr
    assert job.end() == 0


def test_a_process_that_is_killed_meanwhile_leaves_a_readable_trace(
    start: Start, tmp_path: Path
) -> None:
    job = start("grows.py")
    trace = Path(json.loads(attach(job.pid, "--json", "--trace-dir", tmp_path))["trace"])
    job.wait_for_steps(10)
    job.process.send_signal(signal.SIGKILL)
    job.process.wait(PATIENCE)
    assert facts(trace)["counts"]["allocations"] > 20


def test_ctl_finds_a_process_that_is_observed(start: Start, tmp_path: Path) -> None:
    job = start("grows.py")
    attach(job.pid, "--trace-dir", tmp_path)
    asked = [VRAMSTOW, "ctl", str(job.pid), "census", "--json"]
    told = json.loads(run_program(*asked, check=True).stdout)
    assert told["holders"]
    # The two outputs have the same form, except that attach also reports how the process was
    # queried.
    same = json.loads(attach(job.pid, "--census", "--json"))
    assert set(same) - set(told) == {"pid", "stopped_ms", "answered_ms"}
    assert set(told) - set(same) == set()
    assert same["holders"][0].keys() == told["holders"][0].keys()
    attach(job.pid, "--detach")
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 2


def test_top_finds_a_process_that_is_observed(start: Start, tmp_path: Path) -> None:
    job = start("grows.py")
    trace = json.loads(attach(job.pid, "--json", "--trace-dir", tmp_path / "t"))["trace"]
    for target in ([], [str(job.pid)]):
        told = json.loads(run_program(VRAMSTOW, "top", *target, "--json", check=True).stdout)
        [seen] = [process for process in told["processes"] if process["pid"] == job.pid]
        assert seen["runs"]
        assert seen["file"] == trace
    attach(job.pid, "--detach")


def losses(line: str) -> list[str]:
    return line.split()[:2]


def attach_in_turn(job: Job, times: int, folder: Path) -> None:
    for number in range(times):
        if number % 3 == 0:
            attach(job.pid, "--census", "--patience", "60s")
        elif number % 3 == 1:
            attach(job.pid, "--growth", "--every", "20ms", "--patience", "60s")
        else:
            attach(job.pid, "--trace-dir", folder, "--patience", "60s")
            attach(job.pid, "--detach", "--patience", "60s")
        assert job.process.poll() is None


@pytest.mark.parametrize(
    "times", [12, pytest.param(1000, marks=pytest.mark.long)], ids=["few", "many"]
)
def test_in_whatever_state_the_process_is_it_goes_on_with_the_same_losses(
    start: Start, tmp_path: Path, times: int
) -> None:
    job = start("states.py", "0")
    first = 6
    attach_in_turn(job, first, tmp_path / "t")
    before = job.least_resident_bytes()
    # The program itself also starts and ends a thread now and then.
    threads, descriptors = job.fewest("task"), job.fewest("fd")
    attach_in_turn(job, times - first, tmp_path / "t")
    # The header of each trace stays in memory, because a late thread may still read it.
    grown = job.least_resident_bytes() - before
    assert grown < 24 * MIB + times * 200 * 1024, f"{grown / times / 1024:.0f} KiB each"
    job.tell("stop")
    told = job.line()
    # The thread that answered last may still be ending.
    job.wait_for("task", threads)
    job.wait_for("fd", descriptors)
    assert job.end() == 0
    assert (tmp_path / "stderr").read_text() == ""
    steps = told.split()[0]
    again = Job(tmp_path, str(Path(__file__).parent / "programs/states.py"), steps)
    assert again.line() == "ready"
    assert losses(again.line()) == losses(told)
    assert again.process.wait(PATIENCE) == 0


def test_no_child_that_the_process_forks_answers_instead_of_it(
    start: Start, tmp_path: Path
) -> None:
    job = start("forks.py")
    command = [VRAMSTOW, "attach", str(job.pid), "--json", "--trace-dir", tmp_path / "t"]
    command.append(f"--patience={PATIENCE}s")
    with killed_at_end(command, stdout=subprocess.PIPE, text=True) as attached:
        wait_until(lambda: bool(request_folders(tmp_path)))
        time.sleep(1)  # the process has been entered by then
        with open(tmp_path / "go", "w") as go:
            go.write("1")
            go.flush()
            assert job.line() == "child"
            go.write("2")
        text, _ = attached.communicate(timeout=PATIENCE)
    assert attached.returncode == 0
    assert re.search(rf"-{job.pid}[-.]", Path(json.loads(text)["trace"]).name)
    attach(job.pid, "--detach", "--patience", "60s")
    assert job.end() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace")
def test_a_process_that_has_another_pid_for_itself_answers(start: Start, tmp_path: Path) -> None:
    job = start("grows.py", under=("unshare", "--pid", "--fork", "--kill-child"))
    [pid] = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    attach(pid, "--trace-dir", tmp_path / "t", "--patience", "60s")
    assert list((tmp_path / "t").glob("*.stow"))
    attach(pid, "--detach", "--patience", "60s")
    assert job.end() == 0


def test_a_main_thread_that_runs_no_python_is_named_and_nothing_happens_later(
    start: Start, tmp_path: Path
) -> None:
    job = start("sleeps.py")
    said = attach(job.pid, "--patience", "300ms", "--trace-dir", tmp_path / "t", status=2)
    assert "main thread runs no Python" in said and "--patience" in said
    with open(tmp_path / "wake", "w"):
        assert job.line() == "awake"
    assert not list((tmp_path / "t").iterdir())
    assert "libvramstow" not in Path(f"/proc/{job.pid}/maps").read_text()
    assert job.end() == 0


def test_a_request_that_was_given_up_leaves_no_observation(start: Start, tmp_path: Path) -> None:
    job = start("grows.py")
    refused = 0
    for wait_ms in (1, 2, 4, 6, 8, 10, 15, 20, 30, 40, 60, 90):
        command = [VRAMSTOW, "attach", str(job.pid), "--trace-dir", tmp_path / "t"]
        ran = run_program(*command, f"--patience={wait_ms}ms")
        if ran.returncode == 0:
            attach(job.pid, "--detach", "--patience", "60s")
            continue
        refused += 1
        assert "The process was not changed" in ran.stderr
        job.wait_for_steps(5)  # the request's code has run by now
        said = attach(job.pid, "--detach", "--patience", "60s", status=2)
        assert "this process is not observed" in said, (wait_ms, said)
    assert refused > 0


def test_an_observation_of_growth_is_not_offered_to_others(start: Start, tmp_path: Path) -> None:
    job = start("grows.py")
    command = [VRAMSTOW, "attach", str(job.pid), "--growth", "--every", "3600s"]
    with killed_at_end([*command, f"--patience={PATIENCE}s"], stdout=subprocess.DEVNULL):
        wait_until(lambda: bool(list(Path("/tmp").glob(f"vramstow-attach-*/*{job.pid}.stow"))))
        job.wait_for_steps(20)
        said = attach(job.pid, "--trace-dir", tmp_path / "t", "--patience", "60s", status=2)
        assert "another vramstow attach" in said and "--growth observes this process" in said


def request_folders(words: object) -> list[Path]:
    """Returns the folders of requests that contain these words. Other tests have folders there."""
    found = []
    for request in Path("/tmp").glob("vramstow-attach-*/request-*.json"):
        with contextlib.suppress(OSError):  # it may be gone by now
            if str(words) in request.read_text():
                found.append(request.parent)
    return found


@contextlib.contextmanager
def request_to(
    job: Job, traces: Path, patience: str
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Starts `vramstow attach`, and returns it with the folder of its request."""
    command = [VRAMSTOW, "attach", str(job.pid), f"--trace-dir={traces}", "--patience", patience]
    with killed_at_end(command, stderr=subprocess.PIPE, text=True) as attaching:
        wait_until(lambda: bool(request_folders(traces)))
        [folder] = request_folders(traces)
        yield attaching, folder


def test_a_request_that_was_given_up_cannot_be_begun_while_its_folder_is_removed(
    start: Start, tmp_path: Path
) -> None:
    job = start("sleeps.py")
    with request_to(job, tmp_path / "t", "10s") as (attaching, folder):
        for number in range(1000):  # their removal takes a while
            os.mknod(folder / f"more-{number}")
        claim = folder / "answer-1.json.claim"
        wait_until(lambda: claim.exists() or not folder.exists())
        is_begun = False
        while folder.exists() and not is_begun:
            with contextlib.suppress(OSError):
                os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                is_begun = True
        _, said = attaching.communicate(timeout=PATIENCE)
    shutil.rmtree(folder, ignore_errors=True)
    assert "The process was not changed" in said
    assert not is_begun
    assert not list(Path("/tmp").glob("vramstow-attach-*/more-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_late_process_runs_no_code_of_another_user(start: Start, tmp_path: Path) -> None:
    job = start("sleeps.py")
    with request_to(job, tmp_path / "t", "5s") as (attaching, folder):
        _, said = attaching.communicate(timeout=PATIENCE)
    assert "main thread runs no Python" in said and not folder.exists()
    try:
        folder.mkdir(mode=0o755)
        proof = tmp_path / "proof"
        (folder / "observation.py").write_text(f"open({str(proof)!r}, 'w').close()\n")
        os.chown(folder, 65534, 65534)
        with open(tmp_path / "wake", "w"):
            assert job.line() == "awake"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert not proof.exists()
    assert job.end() == 0


def test_a_stopped_process_is_named(start: Start) -> None:
    job = start("grows.py")
    job.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state(job.pid)[0] == "T")
    said = attach(job.pid, "--census", status=2)
    assert f"kill -CONT {job.pid}" in said
    job.process.send_signal(signal.SIGCONT)
    assert "global weights" in attach(job.pid, "--census")


def test_what_cannot_be_entered_is_said_in_one_sentence(tmp_path: Path) -> None:
    assert "no process" in attach(2**22 - 5, status=2)
    with killed_at_end(["sleep", "600"]) as other:  # it runs once Popen has returned
        assert "runs no Python" in attach(other.pid, status=2)
    ready = "print('ready', flush=True); import time; time.sleep(600)"
    with killed_at_end([sys.executable, "-c", ready], stdout=subprocess.PIPE) as plain:
        assert plain.stdout is not None
        plain.stdout.readline()
        assert "has not loaded PyTorch" in attach(plain.pid, status=2)
    assert "--every needs a time" in attach(1, "--growth", "--every", "soon", status=2)
    assert "--for needs a time" in attach(1, "--for", "0s", status=2)
    assert "no process" in attach(1 << 29, "--trace-dir", tmp_path / "new/one", status=2)
    assert not (tmp_path / "new").exists()
    for flags in (["--every", "4s"], ["--every", "4s", "--census"], ["--for=1s", "--every=4s"]):
        assert "--every requires --growth, and has no effect" in attach(1, *flags, status=2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_another_user_is_told_what_to_do(start: Start) -> None:
    job = start("grows.py")
    done = run_program(
        *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
        *(VRAMSTOW, "attach", job.pid, "--census"),
        cwd="/",
    )
    if "Permission denied" in done.stderr:
        pytest.skip("another user cannot read this build")
    assert done.returncode == 2
    assert "another user" in done.stderr and len(done.stderr.splitlines()) == 1
    assert job.process.poll() is None


SEIZED = """
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(0x4206, int(sys.argv[1]), None, None) == 0  # PTRACE_SEIZE
print("in", flush=True)
time.sleep(600)
"""


def test_a_debugger_that_is_in_it_is_named(start: Start) -> None:
    job = start("grows.py")
    command = [sys.executable, "-c", SEIZED, str(job.pid)]
    with killed_at_end(command, stdout=subprocess.PIPE, text=True) as debugger:
        assert debugger.stdout is not None
        assert debugger.stdout.readline().strip() == "in"
        said = attach(job.pid, "--census", status=2)
        assert f"is being debugged by process {debugger.pid}" in said
    assert "global weights" in attach(job.pid, "--census")


# A filter of system calls as containers have one: the given calls are refused, all others are
# permitted.
FILTERED = """
import ctypes, os, platform, struct, sys
numbers = {"x86_64": (101, 311), "aarch64": (117, 271)}[platform.machine()]
refused = numbers if sys.argv[1] == "both" else numbers[1:]
code = [(0x20, 0, 0, 0)]  # the call's number
code += [(0x15, 0, 1, number) if i % 2 == 0 else (0x06, 0, 0, 0x00050001)
         for number in refused for i in range(2)]
code.append((0x06, 0, 0, 0x7FFF0000))
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


def attach_filtered(refused: str, pid: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", FILTERED, refused, VRAMSTOW, "attach", str(pid), "--census"]
    return run_program(*command, timeout=600)


def test_a_filter_of_system_calls_is_told_or_got_around(start: Start) -> None:
    job = start("grows.py")
    before = Path(f"/proc/{job.pid}/maps").read_text().count("\n")
    done = attach_filtered("both", job.pid)
    assert done.returncode == 2 and "cannot be attached to" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "SYS_PTRACE" in done.stderr
    assert "libvramstow" not in Path(f"/proc/{job.pid}/maps").read_text()
    assert Path(f"/proc/{job.pid}/maps").read_text().count("\n") <= before + 1
    # If only process_vm_writev is refused, attach still works, because ptrace alone is sufficient.
    done = attach_filtered("process_vm_writev", job.pid)
    assert done.returncode == 0 and "global weights" in done.stdout, done.stderr


unshares = subprocess.run(["unshare", "-mp", "--fork", "true"], capture_output=True, check=False)


@pytest.mark.skipif(unshares.returncode != 0, reason="no namespaces can be made here")
@pytest.mark.parametrize("kind", ["-mp", "-p"])
def test_a_process_in_a_container_is_refused_and_one_with_other_numbers_is_not(
    tmp_path: Path, kind: str
) -> None:
    program = Path(__file__).parent / "programs/grows.py"
    command = ["unshare", kind, "--fork", "--kill-child", PYTHON, program]
    environment = plain_environment()
    with killed_at_end(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as outer:
        assert outer.stdout is not None
        assert outer.stdout.readline().strip() == "ready"
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        assert len(children) == 1
        if kind == "-p":
            assert "global weights" in attach(children[0], "--census")
        else:
            said = attach(children[0], "--census", status=2)
            assert (
                "run vramstow attach inside the container" in said and len(said.splitlines()) == 1
            )
            assert "libvramstow" not in Path(f"/proc/{children[0]}/maps").read_text()
        (tmp_path / "stop").touch()
        (tmp_path / "end").touch()
        assert outer.wait(PATIENCE) == 0


def state(pid: int) -> tuple[str, str]:
    """Returns the state of the process, and the process that traces it."""
    told = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^State:\s+(\S).*^TracerPid:\s+(\d+)", told, re.M | re.S)
    assert found is not None
    return found[1], found[2]


def test_who_attaches_may_be_killed_at_any_moment(start: Start) -> None:
    job = start("grows.py")
    attach(job.pid, "--census")
    # No other request has this patience, so that only the folders of this test are removed.
    patience = f"{PATIENCE}.{os.getpid()}1"
    command = [VRAMSTOW, "attach", str(job.pid), "--census", "--patience", f"{patience}s"]
    chance = random.Random(7)
    for number in range(40):
        with killed_at_end(command, stdout=subprocess.DEVNULL) as asking:
            if number % 2:
                time.sleep(chance.uniform(0, 0.03))
            while number % 2 == 0 and state(job.pid)[1] == "0" and asking.poll() is None:
                pass  # the process is stopped
            asking.kill()
        wait_until(lambda: state(job.pid)[0] in "RSD" and state(job.pid)[1] == "0")
        assert job.process.poll() is None
    assert "global weights" in attach(job.pid, "--census", "--patience", "60s")
    for folder in request_folders(f'"patience":{patience}'):
        shutil.rmtree(folder, ignore_errors=True)  # a killed process cannot remove its folder
    assert job.end() == 0


@pytest.mark.parametrize(
    ("flags", "advice"), [([], "vramstow ctl"), (["--no-trace"], "leave --no-trace out")]
)
def test_a_process_under_vramstow_run_says_so(
    tmp_path: Path, flags: list[str], advice: str
) -> None:
    program = Path(__file__).parent / "programs/grows.py"
    command = [VRAMSTOW, "run", "--simulate=h200", *flags, "--", PYTHON, program]
    with killed_at_end(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline().strip() == "ready"
        child = int(Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()[0])
        said = attach(child, "--census", status=2)
        assert advice in said
        (tmp_path / "stop").touch()
        (tmp_path / "end").touch()
        run.wait(PATIENCE)
