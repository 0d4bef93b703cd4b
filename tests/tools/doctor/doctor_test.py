"""Tests the answers of vramstow doctor on good and bad machines."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from built import BUILD, ROOT, VRAMSTOW, Ran, run_program, run_vramstow
from installation import Installation, compile_library, torch_folder

# A driver that reports no device; each test changes what is wrong with it.
DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned flags) { %(init)s }
int cuDriverGetVersion(int* version) { *version = %(version)s; return 0; }
int cuDeviceGetCount(int* count) { *count = %(count)s; return 0; }
int cuDeviceGet(int* device, int number) { *device = number; return 0; }
int cuDeviceGetName(char* name, int size, int device) {
  snprintf(name, size, "Odd\033Card");
  return 0;
}
int cuDeviceTotalMem_v2(size_t* total, int device) { *total = (size_t)1 << 30; return 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 20 ? %(mode)s : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) { %(retain)s }
"""
GOOD = {"init": "return 0;", "version": "13020", "count": "0", "mode": "0", "retain": "return 2;"}

# The limit of tests in which something hangs: seconds that no other trial needs on a busy machine.
LIMIT = "--timeout=10"


@dataclass
class Told:
    status: int
    findings: dict[str, dict[str, str]]
    features: dict[str, dict[str, str]]
    text: str

    def said(self, finding: str) -> str:
        return self.findings[finding]["said"]

    def verdict(self, finding: str) -> str:
        return self.findings[finding]["verdict"]


def environment(tmp_path: Path, **changes: str) -> dict[str, str]:
    base = {name: value for name, value in os.environ.items() if "VRAMSTOW" not in name}
    for folder in ("temporary", "traces", "run"):
        (tmp_path / folder).mkdir(exist_ok=True)
    base |= {
        "PATH": f"{Path(sys.executable).parent}:{base['PATH']}",
        "TMPDIR": str(tmp_path / "temporary"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "VRAMSTOW_TRACE_DIR": str(tmp_path / "traces"),
        "ASAN_OPTIONS": "verify_asan_link_order=0",
    }
    return base | changes


def ask(
    tmp_path: Path, *arguments: str, program: Path = VRAMSTOW, limit: int | None = None, **env: str
) -> Told:
    """Runs it twice, for JSON and for text, and checks what holds for every answer."""
    variables = environment(tmp_path, **env)

    def run(*more: str) -> Ran:
        return run_program(
            *(program, "doctor", *arguments, *more),
            timeout=240,
            env=variables,
            preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            if limit
            else None,
        )

    result = run("--json")
    assert result.stderr == "", result.stderr
    told: dict[str, Any] = json.loads(result.stdout)
    assert told["schema"] == {"name": "vramstow.doctor", "version": 1}
    assert result.returncode == (0 if told["all_works"] else 1)
    for finding in told["findings"]:
        assert finding["said"] and not finding["said"].endswith("."), finding
        assert bool(finding["remedy"]) == (finding["verdict"] != "good"), finding
        assert "\033" not in finding["said"] or "Odd" in finding["said"]
    broken = [feature for feature in told["features"] if feature["works"] == "no"]
    assert all(feature["why"] and feature["remedy"] for feature in broken), broken
    page = run()
    assert page.returncode == result.returncode
    assert "\033" not in page.stdout and max(map(len, page.stdout.splitlines())) < 160
    for folder in ("temporary", "traces", "run"):
        assert not any((tmp_path / folder).iterdir()), f"something was left in {folder}"
    return Told(
        result.returncode,
        {finding["id"]: finding for finding in told["findings"]},
        {feature["name"]: feature for feature in told["features"]},
        page.stdout,
    )


def with_driver(tmp_path: Path, **odd: str) -> dict[str, str]:
    compile_library(tmp_path / "driver/libcuda.so.1", DRIVER % (GOOD | odd))
    return {"LD_LIBRARY_PATH": str(tmp_path / "driver")}


def test_a_machine_without_a_driver_is_told_to_rehearse(tmp_path: Path) -> None:
    told = ask(tmp_path, LD_LIBRARY_PATH="")
    assert told.status == 1
    assert "no CUDA driver" in told.said("driver.library")
    assert "--simulate=h200" in told.findings["driver.library"]["remedy"]
    assert told.features["trace"]["works"] == "no"
    assert told.features["rehearsal"]["works"] == "yes"
    assert told.verdict("preload.rehearsal") == "good"
    assert told.text.count("there is no CUDA driver on this machine") == 2, (
        "once found, once as a reason"
    )


def test_all_is_good_on_a_simulated_card(tmp_path: Path) -> None:
    told = ask(tmp_path, "--simulate=h200,count=2,memory=2GiB", CXX="g++")
    assert told.verdict("preload.trace") == told.verdict("preload.pool") == "good"
    assert "simulated" in told.said("driver.library")
    assert "2.00 GiB" in told.said("driver.0") and "driver.1.ipc" in told.findings
    for name in ("trace", "pool", "offload", "control"):
        assert told.features[name]["works"] == "yes", told.features[name]
    assert "--simulate=h200,count=2" in told.features["trace"]["command"]


@pytest.mark.parametrize(
    ("lack", "capability", "features"),
    [
        ("vmm", "virtual_memory", {"pool": "limited", "offload": "no", "trace": "yes"}),
        ("host-vmm", "host_mapping", {"pool": "yes", "offload": "no", "trace": "yes"}),
        ("event-context", "context_event", {"pool": "limited", "trace": "yes"}),
        ("ipc", "ipc", {"ranks": "limited", "trace": "yes"}),
        ("mempool", "stream_ordered", {"pool": "yes", "trace": "yes"}),
    ],
)
def test_what_a_card_lacks_is_found_and_limits_what_needs_it(
    tmp_path: Path, lack: str, capability: str, features: dict[str, str]
) -> None:
    told = ask(tmp_path, f"--simulate=a100,without={lack}")
    assert told.verdict(f"driver.0.{capability}") != "good"
    assert told.status == (1 if "no" in features.values() else 0), told.text
    assert {name: told.features[name]["works"] for name in features} == features


@pytest.mark.parametrize(
    ("fault", "words"),
    [("crash:1", "was ended by signal 11"), ("hang:1", "did not end within")],
)
def test_a_driver_that_breaks_over_host_memory_breaks_nothing_else(
    tmp_path: Path, fault: str, words: str
) -> None:
    told = ask(tmp_path, f"--simulate=a100,cuda=12.4,host-numa={fault}", LIMIT)
    assert words in told.said("driver.0.host_mapping")
    assert told.verdict("driver.0.host_mapping") == "broken"
    assert "driver.process" not in told.findings
    works = {name: told.features[name]["works"] for name in ("trace", "pool", "offload")}
    assert works == {"trace": "yes", "pool": "yes", "offload": "no"}


def test_a_test_of_host_memory_that_took_too_long_is_made_again(tmp_path: Path) -> None:
    card = "--simulate=a100,cuda=12.4,host-numa=hang:1"
    told = ask(tmp_path, card, LIMIT)
    assert "did not end within" in told.said("driver.0.host_mapping")
    remembered = list((tmp_path / "cache").rglob("host-mapping*"))
    assert remembered == [], remembered[0].read_text()
    ask(tmp_path, card.replace("hang", "crash"))
    assert list((tmp_path / "cache").rglob("host-mapping*")), "a crash is remembered"


def test_a_parent_that_ignores_the_end_of_children_changes_nothing(tmp_path: Path) -> None:
    result = run_program(
        *(VRAMSTOW, "doctor", "--simulate=h200,memory=1GiB", LIMIT, "--json"),
        timeout=240,
        env=environment(tmp_path, **fake_python(tmp_path, answer(""))),
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    findings = json.loads(result.stdout)["findings"]
    assert "did not end" not in result.stdout
    assert {"id": "preload.pool", "verdict": "good"}.items() <= next(
        finding.items() for finding in findings if finding["id"] == "preload.pool"
    )


def test_only_what_is_needed_decides(tmp_path: Path) -> None:
    card = "--simulate=a100,without=host-vmm"
    assert ask(tmp_path, card).status == 1
    assert ask(tmp_path, card, "--need=trace,pool").status == 0
    assert ask(tmp_path, card, "--need=pool,offload").status == 1


def test_the_card_of_a_run_around_it_is_taken(tmp_path: Path) -> None:
    told = ask(tmp_path, VRAMSTOW_SIMULATE="l40s")
    assert "L40S" in told.said("driver.0")


@pytest.mark.parametrize(
    ("odd", "finding", "words"),
    [
        ({"init": "__builtin_trap();"}, "driver.process", "signal"),
        ({"init": "for (;;) pause();"}, "driver.process", "did not end within"),
        ({"init": "exit(7);"}, "driver.process", "exit status 7"),
        ({"init": "return 34;"}, "driver.init", "34"),
        ({"init": "return 803;"}, "driver.init", "803"),
        ({"init": "return 999;"}, "driver.init", "999"),
        ({"init": r'puts("{\"count\": 3}\n{\"de"); return 0;'}, "driver.devices", "no device"),
        ({"count": "1", "retain": "abort();"}, "driver.process", "a trial of device 0"),
        ({"count": "1"}, "driver.0.context", "error 2"),
        ({"count": "1", "mode": "2"}, "driver.0", "refuse"),
    ],
)
def test_a_broken_driver_is_a_finding(
    tmp_path: Path, odd: dict[str, str], finding: str, words: str
) -> None:
    limit = LIMIT if "pause" in str(odd) else "--timeout=30"
    told = ask(tmp_path, limit, **with_driver(tmp_path, **odd))
    assert told.status == 1
    assert told.verdict(finding) == "broken"
    assert words in told.said(finding)
    assert told.features["trace"]["works"] == "no"
    assert told.features["rehearsal"]["works"] == "yes"


def test_an_old_driver_is_not_refused(tmp_path: Path) -> None:
    told = ask(tmp_path, **with_driver(tmp_path, version="11040"))
    assert told.verdict("driver.library") == "limited"
    assert "11.4" in told.said("driver.library")


def test_a_file_that_is_no_driver_is_none(tmp_path: Path) -> None:
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver/libcuda.so.1").write_text("not a library")
    told = ask(tmp_path, LD_LIBRARY_PATH=str(tmp_path / "driver"))
    assert told.verdict("driver.library") == "broken"


def test_an_installation_without_a_simulator_tries_the_driver(tmp_path: Path) -> None:
    """Acts as on a real GPU; its driver is a simulated one that this installation does not know."""
    prefix = tmp_path / "prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    shutil.copy(VRAMSTOW, prefix / "bin/vramstow")
    for name in ("libvramstow.so", "libvramstow-core.so"):
        shutil.copy(BUILD / "lib" / name, prefix / "lib" / name)
    card = {
        "LD_LIBRARY_PATH": str(BUILD / "lib/vramstow/simulator"),
        "VRAMSTOW_SIMULATED_CARD": "l40s",
    }
    told = ask(tmp_path, program=prefix / "bin/vramstow", **card, CXX="g++")
    assert "L40S" in told.said("driver.0")
    assert told.verdict("preload.trace") == told.verdict("preload.pool") == "good"
    assert told.said("preload.simulator") == "this installation has no simulator"
    assert told.verdict("preload.simulator") == "good"
    assert "rehearsal" not in told.features and "preload.rehearsal" not in told.findings
    assert told.features["trace"]["works"] == told.features["pool"]["works"] == "yes"


def test_a_library_that_cannot_be_preloaded_is_found(
    tmp_path: Path, vramstow: Installation
) -> None:
    """The installation's libraries are fakes with the real names."""
    told = ask(tmp_path, program=vramstow.program, LD_LIBRARY_PATH="")
    assert told.verdict("preload.rehearsal") == "broken"
    assert told.features["rehearsal"]["works"] == "no"
    (vramstow.simulator / "libcurand.so.10").rename(tmp_path / "away")
    told = ask(tmp_path, program=vramstow.program, LD_LIBRARY_PATH="")
    (tmp_path / "away").rename(vramstow.simulator / "libcurand.so.10")
    assert "libcurand.so.10" in told.said("preload.simulator")
    assert "install" in told.findings["preload.simulator"]["remedy"]


def fake_python(tmp_path: Path, script: str) -> dict[str, str]:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "python").chmod(0o755)
    (folder / "python3").symlink_to("python")
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def answer(torch: Path | str, release: str = "3.11.0") -> str:
    said = {"program": "/bin/python", "release": release, "torch": str(torch), "version": "2.15.0"}
    return f"echo '{json.dumps(said)}'"


def test_a_python_that_hangs_or_has_no_pytorch_is_told(tmp_path: Path) -> None:
    hanging = fake_python(tmp_path, "sleep 600")
    told = ask(tmp_path, "--simulate=h200", LIMIT, **hanging)
    assert told.verdict("python.program") == "limited"
    assert "did not end within 10 s" in told.said("python.program")
    assert told.features["tensors"]["works"] == "limited"
    assert told.status == 0


def test_a_python_that_is_asked_does_not_outlive_the_question(tmp_path: Path) -> None:
    told = tmp_path / "told"
    env = fake_python(tmp_path, f"echo $$ > {told}.new; mv {told}.new {told}; exec sleep 600")
    asking = subprocess.Popen(
        [VRAMSTOW, "adapter", "build"], env=environment(tmp_path, **env), stderr=subprocess.DEVNULL
    )

    def wait_until(is_true: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not is_true():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.01)

    wait_until(told.exists)
    asking.terminate()
    asking.wait(timeout=60)
    stat = Path("/proc", told.read_text().strip(), "stat")

    def has_ended() -> bool:
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"

    wait_until(has_ended)


def test_a_python_without_pytorch_is_told(tmp_path: Path) -> None:
    told = ask(tmp_path, "--simulate=h200", **fake_python(tmp_path, answer("")))
    assert told.verdict("python.torch") == "limited"
    assert told.features["tensors"]["works"] == "limited"


@pytest.mark.parametrize(
    ("release", "verdict"),
    [("3.9.2", "limited"), ("3.10.13", "good"), ("3.14.0", "good"), ("3.15.0a1", "limited")],
)
def test_a_python_whose_lines_cannot_be_read_is_told(
    tmp_path: Path, release: str, verdict: str
) -> None:
    told = ask(tmp_path, "--simulate=h200", **fake_python(tmp_path, answer("", release)))
    assert told.verdict("python.lines") == verdict
    assert ("cannot be read" in told.said("python.lines")) == (verdict == "limited")


@pytest.mark.parametrize(
    ("release", "compiler", "words"),
    [
        ("2.3.1", "g++", "does not know"),
        ("2.15.0", "none", "no C++ compiler"),
        ("2.15.0", "/bin/false", "cannot be compiled"),
    ],
)
def test_an_adapter_that_cannot_be_had_is_told(
    tmp_path: Path, release: str, compiler: str, words: str
) -> None:
    env = fake_python(tmp_path, answer(torch_folder(tmp_path, release)))
    if compiler == "none":
        # PATH contains only this folder, which has sh and cat but no compiler.
        for name in ("sh", "cat"):
            (tmp_path / "bin" / name).symlink_to(f"/bin/{name}")
        env["PATH"] = str(tmp_path / "bin")
    told = ask(tmp_path, "--simulate=h200", **env, CXX="" if compiler == "none" else compiler)
    assert told.verdict("python.adapter") == "broken"
    assert words in told.said("python.adapter")
    assert "segments" in told.findings["python.adapter"]["remedy"]
    assert told.features["pooled-tensors"]["works"] == "no"
    assert told.features["pool"]["works"] == "yes"
    # The pool's adapter and the observer support the same releases of PyTorch, so the observer does
    # not work with this release either.
    seen = told.features["tensors"]
    assert seen["command"] == "vramstow run --simulate=h200 -- python train.py"
    assert told.verdict("python.observer") == "broken"
    assert seen["works"] == "no"
    assert told.status == 1


def test_folders_and_limits_that_will_not_do_are_told(tmp_path: Path) -> None:
    long = tmp_path / ("l" * 120)
    told = ask(
        tmp_path,
        "--simulate=h200,memory=1GiB",
        limit=1 << 40,
        VRAMSTOW_TRACE_DIR="/proc/self/no",
        VRAMSTOW_CONTROL_DIR=str(long),
    )
    assert told.verdict("host.traces") == told.verdict("host.control") == "broken"
    assert "--trace-dir" in told.findings["host.traces"]["remedy"]
    assert "too long" in told.said("host.control")
    assert told.verdict("host.address_space") == "broken"
    assert "ulimit -v" in told.findings["host.address_space"]["remedy"]
    assert told.features["trace"]["works"] == "no"


def test_a_folder_for_temporary_files_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = ask(tmp_path, "--simulate=h200,memory=1GiB", TMPDIR=str(tmp_path / "not-there"))
    assert told.said("preload.trace") == "cannot create a folder for a test"
    assert "TMPDIR" in told.findings["preload.trace"]["remedy"]


def test_a_folder_for_traces_that_vramstow_run_makes_is_good(tmp_path: Path) -> None:
    place = tmp_path / "not/there"
    told = ask(tmp_path, "--simulate=h200,memory=1GiB", VRAMSTOW_TRACE_DIR=str(place))
    assert told.said("host.traces") == f"traces go into {place}, which vramstow run creates"
    assert told.features["trace"]["works"] == "yes"
    assert not place.parent.exists()


def test_a_folder_for_sockets_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    folder = tmp_path / f"shared/vramstow-{os.geteuid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    told = ask(tmp_path, "--simulate=h200", XDG_RUNTIME_DIR=str(tmp_path / "shared"))
    assert "does not belong to this user alone" in told.said("host.control")
    assert told.features["control"]["works"] == "no"
    assert told.features["trace"]["works"] == "yes"


def test_wrong_arguments_get_one_sentence(tmp_path: Path) -> None:
    for arguments, env in (
        (["--simulate=x9"], {}),
        (["--what"], {}),
        (["--timeout=0"], {}),
        (["--need=trace,nothing"], {}),
        ([], {"VRAMSTOW_POOL": "maybe"}),
    ):
        result = run_vramstow("doctor", *arguments, timeout=60, env=environment(tmp_path, **env))
        assert result.returncode == 2, result
        assert result.stdout == "" and result.stderr.count("\n") == 1, result


def test_the_page_names_every_finding(tmp_path: Path) -> None:
    page = (ROOT / "docs/doctor.md").read_text()
    sources = "".join(path.read_text() for path in (ROOT / "tools/doctor").glob("*_check.cc"))
    ids = set(re.findall(r'"((?:driver|preload|python|host)\.[a-z_]+)"', sources))
    assert len(ids) > 15
    told = ask(tmp_path, "--simulate=h200")
    ids |= {re.sub(r"\.\d+", ".N", name) for name in told.findings}
    assert not {name for name in ids if f"`{name}`" not in page}
