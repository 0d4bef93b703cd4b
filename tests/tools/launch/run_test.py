"""vramstow run starts the command as it would start without, and prints a summary at the end."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from built import VRAMSTOW, run_program, run_vramstow
from installation import (
    CUDA_BEGINS,
    SIMULATOR_LIBRARIES,
    WRITE_TRACE,
    Installation,
    analyze,
    install,
)

TAKE = "\ncuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64 << 20))"
PRINT_ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"


def environment_of_command(place: Installation, *flags: str, **env: str) -> dict[str, str]:
    result = place.run("run", *flags, "--", sys.executable, "-c", PRINT_ENVIRONMENT, env=env)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "flag", ["--limit=100MiB", "--keep-free=1GiB", "--decay=5s", "--free-waits=never", "--check"]
)
def test_a_setting_of_the_pool_switches_the_pool_on(vramstow: Installation, flag: str) -> None:
    assert environment_of_command(vramstow, flag)["VRAMSTOW_POOL"] == "on"
    refused = vramstow.run("run", "--pool=off", flag, "--", "true")
    assert refused.returncode == 2
    assert refused.stderr.endswith(" is a setting of the pool, which is off: add --pool=on.\n")


def test_a_variable_of_the_pool_says_that_the_pool_is_off(vramstow: Installation) -> None:
    values = {"LIMIT": "100MiB", "KEEP_FREE": "100MiB", "OFFLOAD": "auto", "SHARE": "on"}
    for name, value in (values | {"DECAY": "5s", "CHECK": "1", "NVTX_MEMORY": "1"}).items():
        variable = f"VRAMSTOW_{name}"
        ran = vramstow.run("run", "--", "true", env={variable: value})
        assert ran.returncode == 0, ran.stderr
        assert f"{variable} has no effect, because the pool is off: --pool=on" in ran.stderr
    for variable in ("VRAMSTOW_LIMIT", "VRAMSTOW_KEEP_FREE"):
        assert variable not in vramstow.run("run", "--pool", "true", env={variable: "1GiB"}).stderr


# --- The end of the command


@pytest.mark.parametrize("status", [0, 1, 3, 126, 127, 255])
def test_the_exit_status_is_the_commands(vramstow: Installation, status: int) -> None:
    result = vramstow.run("run", "--", "sh", "-c", f"exit {status}")
    assert result.returncode == status
    assert result.stdout == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_command_that_is_killed_by_a_signal_is_so_for_the_caller(
    vramstow: Installation, number: signal.Signals, tmp_path: Path
) -> None:
    result = vramstow.run("run", "--", "sh", "-c", f"kill -{int(number)} $$", cwd=tmp_path)
    assert result.returncode == -number
    assert list(tmp_path.glob("core*")) == []


def test_a_command_that_is_not_there(vramstow: Installation) -> None:
    for command in ("no-such-command", "/no/such/file"):
        result = vramstow.run("run", "--", command)
        assert result.returncode == 127
        assert result.stderr.count("\n") == 1
        assert command in result.stderr


def test_a_command_that_cannot_be_executed(vramstow: Installation, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    for command in (tmp_path / "text", tmp_path):
        result = vramstow.run("run", "--", command)
        assert result.returncode == 126
        assert result.stderr.count("\n") == 1


# --- The environment of the command


def test_standard_streams_are_the_commands(vramstow: Installation) -> None:
    result = vramstow.run("run", "--", "sh", "-c", "cat; echo error >&2", input="hello\n")
    assert result.stdout == "hello\n"
    assert result.stderr.startswith("error\n")


def test_arguments_reach_the_command_as_they_are(vramstow: Installation) -> None:
    arguments = ["--no-trace", "--", "", "two words", "ünï"]
    script = "import json, sys; print(json.dumps(sys.argv[1:]))"
    result = vramstow.run("run", "--", sys.executable, "-c", script, *arguments)
    assert json.loads(result.stdout) == arguments
    # `--` may be left out before the command.
    assert vramstow.run("run", "basename", "--", "/a/--no-trace").stdout == "--no-trace\n"


def test_the_environment_of_a_real_run(vramstow: Installation, tmp_path: Path) -> None:
    env = environment_of_command(vramstow, OTHER="kept", LD_PRELOAD="libc.so.6")
    assert env["OTHER"] == "kept"
    assert env["LD_PRELOAD"] == f"libc.so.6:{vramstow.prefix}/lib/libvramstow.so"
    assert env["LD_LIBRARY_PATH"] == str(vramstow.driver)
    assert "TRITON_LIBCUDA_PATH" not in env
    assert "VRAMSTOW_SIMULATE" not in env
    assert env["VRAMSTOW_RUN_ID"]
    before = set(vramstow.environment())
    added = set(env) - before
    # The last two variables are set for Python's start-up hook, which observes PyTorch's tensors.
    hook = {
        "PYTHONPATH",
        "VRAMSTOW_PROGRAM",
        "VRAMSTOW_PYTHON_START",
        "VRAMSTOW_RUN_END",
    }
    assert added <= {"LD_PRELOAD", "VRAMSTOW_RUN_ID", "OTHER", "LC_CTYPE"} | hook


@pytest.mark.parametrize("length", [16_360, 100_000, 131_060])
def test_a_long_path_of_python_that_the_job_sets_is_never_cut(length: int) -> None:
    """Uses the real library, which adds the folder of the start-up hook again."""
    script = f"""
import os, subprocess
os.environ["PYTHONPATH"] = "/" + "o" * {length - 1}
raise SystemExit(subprocess.call(["sh", "-c", 'printf %s "$PYTHONPATH"']))
"""
    job = [sys.executable, "-S", "-c", script]
    told = run_program(VRAMSTOW, "run", "--simulate=h200", "--no-trace", "--", *job, check=True)
    hook = str(VRAMSTOW.parents[1] / "lib/vramstow/python") + ":"
    # The longest path leaves no room for the folder, because Linux limits the length of a variable.
    added = "" if length == 131_060 else hook
    own = "/" + "o" * (length - 1)
    is_whole = told.stdout == added + own  # pytest would compare the long texts for minutes
    assert is_whole, f"{len(told.stdout)} characters that begin with {told.stdout[:100]}"


def test_the_environment_of_a_rehearsal(vramstow: Installation) -> None:
    env = environment_of_command(vramstow, "--simulate=h200,memory=8GiB")
    libraries = [vramstow.prefix / "lib/libvramstow.so"]
    libraries += [vramstow.simulator / name for name in SIMULATOR_LIBRARIES]
    assert env["LD_PRELOAD"] == ":".join(map(str, libraries))
    assert env["LD_LIBRARY_PATH"] == f"{vramstow.simulator}:{vramstow.driver}"
    assert env["TRITON_LIBCUDA_PATH"] == str(vramstow.simulator)
    assert env["VRAMSTOW_SIMULATE"] == "h200,memory=8GiB"


def test_flags_become_variables_and_win_over_them(vramstow: Installation) -> None:
    env = environment_of_command(
        vramstow,
        "--no-trace",
        "--coverage",
        "--simulate",
        "a100",
        "--simulate",
        "h200",
        VRAMSTOW_TRACE="1",
        VRAMSTOW_SIMULATE="v100",
    )
    assert env["VRAMSTOW_TRACE"] == "0"
    assert env["VRAMSTOW_COVERAGE"] == "1"
    assert env["VRAMSTOW_SIMULATE"] == "h200"


@pytest.mark.parametrize("flag", ["--interception-report", "--coverage"])
def test_the_interception_report_still_takes_its_old_flag(
    vramstow: Installation, flag: str
) -> None:
    assert environment_of_command(vramstow, flag)["VRAMSTOW_COVERAGE"] == "1"


def test_the_folder_for_traces_is_made_absolute(vramstow: Installation, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    script = ["--", sys.executable, "-c", PRINT_ENVIRONMENT]
    for flags, folder in ((["--trace-dir", "here"], tmp_path / "here"), ([], tmp_path)):
        env = {"VRAMSTOW_TRACE_DIR": ""}
        result = vramstow.run("run", *flags, *script, cwd=tmp_path, env=env)
        assert json.loads(result.stdout)["VRAMSTOW_TRACE_DIR"] == str(folder)


@pytest.mark.parametrize("name", ["traces", "traces/", "a/b/traces", "./a//b"])
def test_a_folder_for_traces_that_is_not_there_is_made(
    vramstow: Installation, tmp_path: Path, name: str
) -> None:
    options = {"cwd": tmp_path, "env": {"VRAMSTOW_TRACE_DIR": ""}}
    for _ in range(2):
        result = vramstow.run("run", "--trace-dir", name, "--", WRITE_TRACE, **options)
        assert result.returncode == 0, result.stderr
    assert len(list((tmp_path / name).glob("*.stow"))) == 2
    # VRAMSTOW_TRACE_DIR creates the folder, too, but only if a command is started and a trace is
    # written.
    options["env"] = {"VRAMSTOW_TRACE_DIR": "other"}
    vramstow.run("run", "--simulate=no-such-card", "--", "true", **options)
    vramstow.run("run", "--no-trace", "--", "true", **options)
    assert not (tmp_path / "other").exists()
    assert vramstow.run("run", "--", WRITE_TRACE, **options).returncode == 0
    assert len(list((tmp_path / "other").glob("*.stow"))) == 1


def test_the_summary_names_the_trace_as_one_who_stands_there_types_it(
    vramstow: Installation, tmp_path: Path
) -> None:
    for flags, shown in (([], r"write_trace-\S+"), (["--trace-dir=a/b"], r"a/b/write_trace-\S+")):
        options = {"cwd": tmp_path, "env": {"VRAMSTOW_TRACE_DIR": ""}}
        result = vramstow.run("run", *flags, "--", WRITE_TRACE, **options)
        told = re.search(r"^  analyse +vramstow analyze (\S+)$", result.stderr, re.MULTILINE)
        assert told and re.fullmatch(shown, told[1]), result.stderr
        assert (tmp_path / told[1]).is_file()


def test_a_quiet_run_says_nothing_of_its_own(vramstow: Installation) -> None:
    result = vramstow.run("run", "--quiet", "--", WRITE_TRACE, "small", "7")
    assert (result.returncode, result.stdout, result.stderr) == (7, "", "")
    assert len(list(vramstow.traces.glob("*.stow"))) == 1
    wrong = vramstow.run("run", "--quiet", "--trace-dir=/dev/null", "--", "true")
    assert wrong.stderr != "", "what went wrong is said"


def test_a_process_that_outlives_the_command_is_named(vramstow: Installation) -> None:
    result = vramstow.run("run", "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!")
    daemon = int(result.stdout)
    assert result.stderr == (
        f"vramstow: the command has ended, but process {daemon} (sleep), which it started, still "
        f"runs; its trace will be in {vramstow.traces}.\n"
    )
    os.kill(daemon, signal.SIGKILL)
    script = f"sleep 300 >/dev/null 2>&1 & echo $!; {WRITE_TRACE}"
    result = vramstow.run("run", "--", "bash", "-c", script)
    os.kill(int(result.stdout.split()[0]), signal.SIGKILL)
    assert ": the summary covers what was recorded until now." in result.stderr.splitlines()[0]
    assert "8.00 MiB allocated" in result.stderr
    # A background process that ends soon after the command is not a daemon.
    result = vramstow.run("run", "--", "sh", "-c", "sleep 0.05 >/dev/null 2>&1 & exit 0")
    assert "no CUDA call was seen" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_no_peak_of_nothing(tmp_path: Path) -> None:
    """Uses the real library, which starts a trace and then finds the disk full."""
    folder = tmp_path / "small"
    folder.mkdir()
    job = [sys.executable, "-c", CUDA_BEGINS + TAKE]
    command = [VRAMSTOW, "run", "--simulate=h200", "--trace-dir", folder, "--", *job]
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this container may not mount")
    try:
        result = run_program(*command, check=True)
        assert "peak         not known: nothing could be recorded" in result.stderr
        assert "because the disk was full" in result.stderr
        assert "0 B" not in result.stderr
        for trace in folder.iterdir():
            trace.unlink()
        (folder / "filler").write_bytes(bytes(40 << 10))
        result = run_program(*command, check=True)
        assert "the command left no trace: the disk of" in result.stderr
        assert "no CUDA call was seen" not in result.stderr
    finally:
        subprocess.run(["umount", folder], check=True)


# --- Settings that are refused before anything is started


def refused(place: Installation, *arguments: str | Path, **options: object) -> str:
    result = place.run("run", *arguments, **options)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("vramstow run: ")
    assert result.stderr.count("\n") == 1, "one sentence"
    return result.stderr


def test_wrong_flags(vramstow: Installation) -> None:
    echo = ("--", "echo", "started")
    assert "--simulat" in refused(vramstow, "--simulat=h200", *echo)
    assert "--trace-dir" in refused(vramstow, "--trace-dir", *echo)
    assert "--trace-dir= has no value" in refused(vramstow, "--trace-dir=", *echo)
    assert "--trace-dir is '/dev/null'" in refused(vramstow, "--trace-dir=/dev/null", *echo)
    assert "--trace-dir is '/dev/null'" in refused(vramstow, "--trace-dir=/dev/null/a", *echo)
    assert "no command" in refused(vramstow)
    assert "no command" in refused(vramstow, "--no-trace", "--")
    env = {"VRAMSTOW_COVERAGE": "perhaps"}
    assert "VRAMSTOW_COVERAGE is 'perhaps'" in refused(vramstow, *echo, env=env)


def test_a_misspelt_variable_gets_its_likely_meaning(vramstow: Installation) -> None:
    env = {"VRAMSTOW_POLL": "on", "VRAMSTOW_BUILD": "x", "VRAMSTOW_RUN_ID": "1"}
    result = vramstow.run("run", "--no-trace", "--", "true", env=env)
    assert result.returncode == 0
    assert result.stderr.splitlines()[0] == (
        "vramstow run: VRAMSTOW_POLL is not a variable of vramstow, and is ignored; did you mean "
        "VRAMSTOW_POOL?"
    )
    assert "VRAMSTOW_BUILD" not in result.stderr, "what is like none may be of somebody else"
    assert "no variable" not in vramstow.run("run", "--no-trace", "--", "true").stderr


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    # Root may write everywhere, so another user must try.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        place = install(Path(folder))
        place.traces.chmod(0o555)
        user = {"user": 65534} if os.geteuid() == 0 else {}
        sentence = refused(place, "--", "echo", "started", cwd="/", **user)
        assert "cannot write traces" in sentence
        assert "--no-trace" in sentence
        result = place.run("run", "--no-trace", "--", "true", cwd="/", **user)
        assert result.returncode == 0


def test_without_a_driver_both_ways_out_are_named(vramstow: Installation) -> None:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pass
    else:
        pytest.skip("this machine has a driver")
    sentence = refused(vramstow, "--", "echo", "started", env={"LD_LIBRARY_PATH": ""})
    assert "machine with an NVIDIA driver" in sentence
    assert "--simulate=h200" in sentence


def test_a_libcuda_that_is_no_driver(vramstow: Installation, tmp_path: Path) -> None:
    shutil.copy(vramstow.prefix / "lib/libvramstow.so", tmp_path / "libcuda.so.1")
    env = {"LD_LIBRARY_PATH": str(tmp_path)}
    assert "no CUDA driver" in refused(vramstow, "--", "echo", "started", env=env)


def test_a_card_that_the_simulator_does_not_have(vramstow: Installation) -> None:
    sentence = refused(vramstow, "--simulate=h900", "--", "echo", "started")
    assert "there is no card 'h900': h200 is one." in sentence


def test_the_cards_are_listed(vramstow: Installation) -> None:
    for flags in (["--simulate=help"], ["--simulate", "help", "--", "echo", "started"]):
        result = vramstow.run("run", *flags)
        assert result.returncode == 0
        assert result.stdout == "Cards:\n  h200\n"
        assert result.stderr == ""


def test_an_installation_without_its_parts(tmp_path: Path) -> None:
    place = install(tmp_path)
    (place.simulator / "libcuda.so.1").unlink()
    for flags in (["--simulate=help"], ["--simulate=h200", "--", "echo"]):
        assert "cannot open the simulated driver" in refused(place, *flags)
    shutil.copy(place.driver / "libcuda.so.1", place.simulator)
    assert "is not vramstow's simulated driver" in refused(place, "--simulate=h200", "--", "echo")
    (place.simulator / "libcudnn.so.9").unlink()
    assert "libcudnn.so.9" in refused(place, "--simulate=h200", "--", "echo")
    (place.prefix / "lib/libvramstow.so").unlink()
    assert "libvramstow.so" in refused(place, "--", "echo")


def test_a_path_that_cannot_be_preloaded(tmp_path: Path) -> None:
    place = install(tmp_path / "with space")
    assert "move vramstow" in refused(place, "--", "echo")


# --- The summary


def test_the_summary_has_what_one_wants_to_know(vramstow: Installation) -> None:
    result = vramstow.run("run", "--", WRITE_TRACE, "small", "7")
    assert result.returncode == 7
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) <= 10
    assert lines[0] == "vramstow: device memory of this run"
    assert "8.00 MiB allocated, 8.00 MiB reserved" in result.stderr
    assert "2, largest block 5.00 MiB, 1 failed allocation" in result.stderr
    assert re.search(r"(?<![.\w])0 ", result.stderr) is None, "rows of zero are left out"
    assert "libjob.so 8.00 MiB" in result.stderr
    [trace] = vramstow.traces.glob("*.stow")
    assert f"vramstow analyze {trace}" in result.stderr


def test_the_line_of_json_is_that_of_analyze(tmp_path: Path) -> None:
    script = tmp_path / "step.py"
    script.write_text(f"""{CUDA_BEGINS}
for _ in range(6):
    for size in (1, 2, 3):
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size << 20)) == 0
        assert cuda.cuMemFree_v2(address) == 0
""")
    flags = ["--json", "--simulate=h200", f"--trace-dir={tmp_path}"]
    told = run_vramstow("run", *flags, "--", sys.executable, script, timeout=120)
    facts = json.loads(told.stderr)
    assert facts["iterations"]
    [trace] = tmp_path.glob("*.stow")
    assert facts == json.loads(analyze("--json", trace).stdout)


def test_a_rehearsal_is_marked_as_one(vramstow: Installation) -> None:
    result = vramstow.run("run", "--simulate=h200", "--", WRITE_TRACE)
    assert result.stderr.startswith("vramstow: SIMULATED RUN (h200)")


def test_many_processes_are_summed_up(vramstow: Installation) -> None:
    script = f"for i in 0 1 2; do RANK=$i {WRITE_TRACE} & done; wait"
    result = vramstow.run("run", "--", "sh", "-c", script)
    assert len(result.stderr.splitlines()) <= 11
    assert "  failed       rank " in result.stderr
    assert "3 processes (3 ranks), highest peak 8.00 MiB in rank" in result.stderr
    assert "24.0 MiB allocated" in result.stderr
    assert f"vramstow analyze {vramstow.traces}\n" in result.stderr


def test_the_last_line_names_the_traces_of_this_run_and_no_others(vramstow: Installation) -> None:
    blocks = [{"size": 512, "state": "inactive", "address": 4096}]
    segment = {"address": 4096, "total_size": 512, "device": 0, "blocks": blocks}
    snapshot = vramstow.traces.parent / "snapshot.pickle"
    snapshot.write_bytes(pickle.dumps({"segments": [segment], "device_traces": []}))
    for ending in ("", "", f"; cp {snapshot} {vramstow.traces}/later.pickle"):
        before = {str(path) for path in vramstow.traces.glob("*.stow")}
        script = f"for i in 0 1 2; do RANK=$i {WRITE_TRACE} & done; wait {ending}"
        result = vramstow.run("run", "--", "sh", "-c", script)
        [*_, last] = result.stderr.splitlines()
        new = {str(path) for path in vramstow.traces.glob("*.stow")} - before
        assert len(new) == 3
        named = last.split()[3:]
        assert set(named) == (new if ending else {str(vramstow.traces)}), last
        done = vramstow.run("analyze", "--json", *named)
        assert json.loads(done.stdout)["input"]["traces"] == 3


def test_a_killed_command_is_summed_up_too(vramstow: Installation) -> None:
    result = vramstow.run("run", "--", WRITE_TRACE, "killed")
    assert result.returncode == -signal.SIGKILL
    assert "8.00 MiB allocated" in result.stderr


def test_a_command_without_cuda(vramstow: Installation) -> None:
    result = vramstow.run("run", "--", "true")
    assert result.stderr.count("\n") == 1
    assert "no CUDA call was seen" in result.stderr
    result = vramstow.run("run", "--no-trace", "--", "true")
    assert "--no-trace" in result.stderr


def test_a_folder_for_traces_that_the_command_removes_is_named(
    vramstow: Installation, tmp_path: Path
) -> None:
    folder = tmp_path / "removed"
    result = vramstow.run("run", f"--trace-dir={folder}", "--", "rmdir", folder)
    assert result.stderr == (
        "vramstow: the command left no trace, because the folder for traces, "
        f"{folder}, was removed or renamed while it ran.\n"
    )


def test_a_run_inside_a_run_belongs_to_both(vramstow: Installation, tmp_path: Path) -> None:
    result = vramstow.run("run", "--", vramstow.program, "run", "--", WRITE_TRACE)
    assert result.stderr.count("vramstow: device memory of this run") == 2
    own = f"--trace-dir={tmp_path / 'own'}"
    result = vramstow.run("run", "--", vramstow.program, "run", own, "--", WRITE_TRACE)
    assert result.stderr.count("vramstow: device memory of this run") == 1
    assert (
        f"no trace of this run is in {vramstow.traces}: no CUDA call was seen, or the traces "
        in (result.stderr)
    )


def test_only_the_traces_of_this_run_count(vramstow: Installation) -> None:
    assert vramstow.run("run", "--", WRITE_TRACE, "many").returncode == 0
    os.mkfifo(vramstow.traces / "pipe.stow")
    (vramstow.traces / "folder.stow").mkdir()
    (vramstow.traces / "text.stow").write_text("hello")
    result = vramstow.run("run", "--", WRITE_TRACE)
    assert "8.00 MiB allocated" in result.stderr
    assert re.search(r"^  allocations +2, ", result.stderr, re.MULTILINE)


def test_a_trace_that_cannot_be_read_is_mentioned(vramstow: Installation) -> None:
    script = f"echo hello > {vramstow.traces}/broken.stow"
    result = vramstow.run("run", "--", "sh", "-c", script)
    assert "left no readable trace" in result.stderr
    result = vramstow.run("run", "--", "sh", "-c", f"{script}; {WRITE_TRACE}")
    assert "that could not be read" in result.stderr


# --- Closed and full streams do no harm


def test_closed_streams_stay_closed_for_the_command(vramstow: Installation) -> None:
    script = (
        "import os, sys; sys.exit(sum(2**i for i in range(9) if os.path.exists(f'/dev/fd/{i}')))"
    )
    command = f'exec {vramstow.program} run -- {sys.executable} -S -c "{script}" <&- >&- 2>&-'
    without = f'exec {sys.executable} -S -c "{script}" <&- >&- 2>&-'
    env = vramstow.environment()
    expected = subprocess.run(["sh", "-c", without], env=env, check=False).returncode
    assert subprocess.run(["sh", "-c", command], env=env, check=False).returncode == expected


def test_a_summary_that_nobody_can_read_changes_nothing(vramstow: Installation) -> None:
    for stream in ("2>&-", "2>/dev/full", "2>&1 | true"):
        command = f"{vramstow.program} run -- {WRITE_TRACE} small 5 {stream}"
        script = f"set -o pipefail; {command}" if "|" in stream else command
        result = subprocess.run(
            ["bash", "-c", script], env=vramstow.environment(), check=False, timeout=60
        )
        assert result.returncode == 5, stream
    [*traces] = vramstow.traces.glob("*.stow")
    assert len(traces) == 3
    for trace in traces:
        listing = vramstow.run("analyze", "--json", trace)
        assert json.loads(listing.stdout)["counts"]["allocations"] == 2


def test_the_help_has_every_flag(vramstow: Installation) -> None:
    text = vramstow.run("run", "--help-all").stdout
    for flag in (
        "--no-trace",
        "--trace-dir DIR",
        "--simulate SPEC",
        "--interception-report",
        "Examples:",
    ):
        assert flag in text


def test_folders_stay_where_they_were_named_though_the_command_changes_its_folder(
    vramstow: Installation, tmp_path: Path
) -> None:
    script = 'cd / && echo "$VRAMSTOW_ADAPTER_DIR $VRAMSTOW_CONTROL_DIR"'
    folders = ("--adapter-dir=adapters", "--control-dir=sockets")
    result = subprocess.run(
        [vramstow.program, "run", *folders, "--", "sh", "-c", script],
        cwd=tmp_path,
        env=vramstow.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert result.stdout == f"{tmp_path}/adapters {tmp_path}/sockets\n"


# --- One folder for all ranks of a job


def test_all_ranks_of_a_job_find_one_folder(vramstow: Installation, tmp_path: Path) -> None:
    """Each rank has its own vramstow, as under srun, and they start at the same time."""
    command = [vramstow.program, "run", "--trace-dir", "job-%j", "--", WRITE_TRACE]
    ranks = [
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=vramstow.environment(SLURM_JOB_ID="17/x", RANK=str(rank), WORLD_SIZE="4"),
            stderr=subprocess.DEVNULL,
        )
        for rank in range(4)
    ]
    for rank in ranks:
        assert rank.wait(timeout=60) == 0
    [folder] = tmp_path.iterdir()
    assert folder.name == "job-17_x"
    assert len(list(folder.glob("*.stow"))) == 4
    result = vramstow.run("analyze", "--json", folder)
    told = json.loads(result.stdout)["ranks"]
    assert sorted(rank["process"]["rank"] for rank in told) == [0, 1, 2, 3]


def test_a_run_that_is_no_rank_is_a_job_of_its_own(vramstow: Installation, tmp_path: Path) -> None:
    place = str(tmp_path / "%j/")
    for _ in range(2):
        result = vramstow.run("run", f"--trace-dir={place}", "--", WRITE_TRACE)
        assert result.returncode == 0, result.stderr
    assert len(list(tmp_path.iterdir())) == 2
    assert len(list(tmp_path.glob("*/*.stow"))) == 2


def test_a_rank_of_no_known_job_is_refused(vramstow: Installation, tmp_path: Path) -> None:
    env = {"RANK": "0", "TORCHELASTIC_RUN_ID": "none"}
    result = vramstow.run("run", f"--trace-dir={tmp_path}/%j", "--", "true", env=env)
    assert result.returncode == 2
    assert "%j" in result.stderr and result.stderr.count("\n") == 1
    result = vramstow.run("run", f"--trace-dir={tmp_path}/%j/more", "--", "true", env=env)
    assert result.returncode == 2 and "last path component" in result.stderr
    result = vramstow.run("run", f"--trace-dir={tmp_path}/%j", "--simulate=nothing", "--", "true")
    assert result.returncode == 2
    assert list(tmp_path.iterdir()) == [], "nothing is made where nothing is started"


# --- Which files of a folder belong to one run


def taken(place: Installation, *inputs: object) -> tuple[int, list[str]]:
    told = json.loads(place.run("analyze", "--json", *map(str, inputs)).stdout)
    return told["input"]["traces"], told["left_out"]


def test_runs_that_do_not_belong_together_are_not_added_up(vramstow: Installation) -> None:
    folder = vramstow.traces
    for processes in (2, 3, 1, 2):
        before = set(folder.glob("*.stow"))
        script = f"for i in $(seq {processes}); do {WRITE_TRACE} & done; wait"
        assert vramstow.run("run", "--", "sh", "-c", script).returncode == 0
        newest = set(folder.glob("*.stow")) - before
        # Times in a file system may be as coarse as a second, so the older files get an earlier
        # time.
        for trace in before:
            os.utime(trace, (1, trace.stat().st_mtime - 10))
        count, left_out = taken(vramstow, folder)
        assert count == len(newest) == processes
        told = " ".join(left_out)
        assert not any(trace.name in told for trace in newest)
        assert bool(left_out) == bool(before)
        assert taken(vramstow, *newest, *before)[0] == len(newest | before), "named is named"
    assert left_out[-1] == "The newest of 4 runs is read; name the files of another run to read it."
    assert " and 1 more." in told
    # A HTML page does not count as the newest run, even if it was written last. A command that
    # prints no list of ignored files names them on stderr.
    (folder / "report.html").write_text("<!DOCTYPE html>")
    checked = vramstow.run("check", folder, "--assert", "allocations == 4")
    assert checked.returncode == 0, checked.stdout
    assert "because it belongs to another run" in checked.stderr
    assert "report.html" in checked.stderr


def test_what_only_looks_like_a_recording_is_not_the_newest_run(vramstow: Installation) -> None:
    folder = vramstow.traces
    for seconds in (20, 10):
        assert vramstow.run("run", "--", WRITE_TRACE).returncode == 0
        for trace in folder.glob("*.stow"):
            os.utime(trace, (1, trace.stat().st_mtime - seconds))
    newest = max(folder.glob("*.stow"), key=lambda trace: trace.stat().st_mtime)
    (folder / "settings.json").write_text('{"batch": 4, "note": "what the job was started with"}')
    (folder / "notes.txt").write_text("{ lr: 0.1 }\n")
    (folder / "parameters.pkl").write_bytes(pickle.dumps({"batch": 4}))
    count, left_out = taken(vramstow, folder)
    assert count == 1
    told = " ".join(left_out)
    assert newest.name not in told
    for name in ("settings.json", "notes.txt", "parameters.pkl"):
        assert name in told
    assert "The newest of 2 runs is read" in told
    # A recording of another program is the newest run if it was written last.
    step = {"ph": "i", "name": "[memory]", "ts": 1, "pid": 1, "args": {"Device Type": 1}}
    step["args"] |= {"Device Id": 0, "Addr": 4096, "Bytes": 512, "Total Allocated": 512}
    (folder / "settings.json").write_text(json.dumps({"traceEvents": [step]}))
    count, left_out = taken(vramstow, folder)
    assert count == 1 and newest.name in " ".join(left_out)


def test_ranks_with_a_run_of_their_own_are_one_job(vramstow: Installation) -> None:
    def start_job(ranks: int) -> None:
        for rank in range(ranks):
            result = vramstow.run("run", "--", WRITE_TRACE, env={"RANK": str(rank)})
            assert result.returncode == 0

    start_job(3)
    assert taken(vramstow, vramstow.traces) == (3, [])
    start_job(2)
    assert taken(vramstow, vramstow.traces)[0] == 2


@pytest.mark.parametrize("variable", ["SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"])
def test_a_job_that_was_started_again_is_a_run_of_its_own(
    vramstow: Installation, variable: str
) -> None:
    """In the first attempt, only two of four ranks reached CUDA."""
    first = {} if variable.startswith("SLURM") else {variable: "0"}
    for attempt, ranks in ((first, "01"), ({variable: "1"}, "2013")):
        for rank in ranks:
            result = vramstow.run("run", "--", WRITE_TRACE, env={"RANK": rank} | attempt)
            assert result.returncode == 0
    count, left_out = taken(vramstow, vramstow.traces)
    assert count == 4
    assert left_out[-1] == "The newest of 2 runs is read; name the files of another run to read it."


def test_attempts_of_a_rank_are_not_added_up(vramstow: Installation) -> None:
    """Each process holds at most 8 MiB, and lives before or after the others of its rank."""
    script = "for attempt in 0 1 2; do for i in 0 1; do RANK=$i "
    script += f"TORCHELASTIC_RESTART_COUNT=$attempt {WRITE_TRACE}; done; done"
    result = vramstow.run("run", "--", "sh", "-c", script)
    assert "6 processes (2 ranks, 3 attempts)" in result.stderr
    text = vramstow.run("analyze", vramstow.traces).stdout
    assert "2 ranks. Ranks ran up to 3 times, one attempt after the other" in text
    checked = vramstow.run("check", vramstow.traces, "--assert", "peak_allocated == 16MiB")
    assert checked.returncode == 0, checked.stdout
    assert "peak_allocated is the sum of 2 ranks, each in its highest attempt" in checked.stdout


def test_a_copy_is_not_added_to_what_it_is_a_copy_of(vramstow: Installation) -> None:
    assert vramstow.run("run", "--", WRITE_TRACE).returncode == 0
    [trace] = vramstow.traces.glob("*.stow")
    for end in ("-dump", "-dump-2", "-oom"):
        shutil.copy(trace, trace.with_name(trace.stem + end + ".stow"))
    count, left_out = taken(vramstow, vramstow.traces)
    assert (count, len(left_out)) == (1, 3)
    trace.unlink()
    assert taken(vramstow, vramstow.traces)[0] == 1
