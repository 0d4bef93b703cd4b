"""A census after an out-of-memory error reports who holds the memory, and does not affect the
program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built import ROOT, VRAMSTOW, run_program
from jobs_conftest import Rehearsal

torch = pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]
OBSERVED = {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "tensors", "VRAMSTOW_CENSUS": "on"}
POOLED = OBSERVED | {"VRAMSTOW_POOL": "on"}
PACKAGE = {"PYTHONPATH": str(ROOT / "python")}
BOTH = pytest.mark.parametrize("settings", [OBSERVED, POOLED], ids=["observed", "pooled"])
POOLED_SELDOM = pytest.mark.parametrize(
    "settings",
    [OBSERVED, pytest.param(POOLED, marks=pytest.mark.long)],
    ids=["observed", "pooled"],
)
TORCH = Path(torch.__file__).resolve().parent
CARD = "h200,memory=560MiB,values=off"

HOLDERS = {
    'global cache["kv"][0..1]': "other",
    "global cache[7]": "other",
    "global history[0..2].grad_fn → saved by ExpBackward0": "saved",
    "global count → counter.<locals>.count: closure seen[0]": "other",
    "global generator → its frame": "other",
    "global slots.kept": "other",
    "global Shelf.shared": "other",
    "global twice.grad_fn → TwiceBackward → saved": "saved",
    "global twice.grad_fn → TwiceBackward.factor": "other",
    "global call.args[0]": "other",
    "global queue[…]": "other",
    "global model.0.weight": "parameter",
    "global model.0.weight.grad": "gradient",
    "global model.table": "buffer",
    'global optimizer.state[model.0.weight]["exp_avg"]': "optimizer_state",
    'hook of global model.0: default of <lambda>["kept"]': "other",
    'Shelf.books["first"]': "other",
    "Shelf.ask: mine": "other",
    "exception being handled in <module>: frame fail, variable broken": "other",
}


@pytest.fixture(autouse=True)
def known_python(python: str) -> None:
    ask = "import sys; print(sys.version_info[1])"
    minor = int(subprocess.run([python, "-c", ask], check=True, capture_output=True).stdout)
    if minor not in range(9, 14):
        pytest.skip(f"the census does not know Python 3.{minor}")


def holders_of(job: Rehearsal) -> dict[str, str]:
    assert job.traces, job.err[-2000:]
    last: dict[str, Any] = job.analysis()["out_of_memory"][-1]
    return {row["holder"]: row["role"] for row in last["holders"]}


@BOTH
def test_each_way_to_hold_a_tensor_is_told(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    job = rehearse(python, OWN / "holders.py", card=CARD, env=settings)
    assert "OutOfMemoryError" in job.err, job.err[-2000:]
    told = holders_of(job)
    assert not {name: role for name, role in HOLDERS.items() if told.get(name) != role}, told


def test_what_arrays_of_objects_hold_is_told(rehearse: Rehearse, python: str) -> None:
    pytest.importorskip("numpy")
    job = rehearse(python, OWN / "object_arrays.py", card=CARD, env=OBSERVED)
    assert "OutOfMemoryError" in job.err, job.err[-2000:]
    told = set(holders_of(job))
    assert told == {"global bank[0..2]", "global part[0..2]", "global table.values[0..1]"}


@POOLED_SELDOM
def test_what_nobody_trains_what_evaluates_and_what_is_dead_is_told(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    settings = settings | {"VRAMSTOW_COLLECT": "off"}
    job = rehearse(python, OWN / "trainees.py", card=CARD, env=settings)
    assert "OutOfMemoryError" in job.err, job.err[-2000:]
    last: dict[str, Any] = job.analysis()["out_of_memory"][-1]
    about = {row["holder"]: row["about"] for row in last["holders"]}
    assert about["global teacher.weight"] == (
        "float32 [4096, 1024], requires grad, in no optimizer"
    )
    assert about["global student.weight"] == "float32 [2048, 1024], requires grad, in eval()"
    assert about["global frozen.weight"] == "float32 [1024, 1024], in no optimizer"
    assert about["a dead cycle: Ring.me → itself"] == "float32 [25165824]"
    assert last["bytes_without_holder"] == 0
    assert last["cause"] == "dead_cycles"


def test_the_cache_of_a_function_keeps_arguments_or_results(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, OWN / "cached_arguments.py", card=CARD, env=OBSERVED)
    assert "OutOfMemoryError" in job.err, job.err[-2000:]
    told = set(holders_of(job))
    assert {
        "global size_of → arguments kept by functools.lru_cache[0].rows",
        "global rows_of → arguments kept by functools.lru_cache[0].rows",
        "global seen[a tensor]",
    } <= told, told
    results = {name for name in told if name.startswith("global made")}
    assert results and not {name for name in results if "arguments" in name}, told


def test_what_contexts_keep_that_lead_to_one_another_is_told(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, OWN / "kept_contexts.py", card=CARD, env=OBSERVED)
    assert "OutOfMemoryError" in job.err, job.err[-2000:]
    last: dict[str, Any] = job.analysis()["out_of_memory"][-1]
    assert last["bytes_without_holder"] < last["demand"]["live_bytes"] // 10, last["holders"]
    first = last["would_fit"][0]
    assert first["cause"] == "dead_cycles"
    assert first["holder"] == "a dead cycle: SwishBackward.out → Tensor.grad_fn → itself"
    assert first["place"].endswith("Swish.forward"), first


def test_what_the_outputs_of_a_function_keep_is_told_as_what_their_graphs_keep(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, OWN / "kept_outputs.py", card=CARD, env=OBSERVED)
    assert "OutOfMemoryError" in job.err, job.err[-2000:]
    first = job.analysis()["out_of_memory"][-1]["would_fit"][0]
    assert first["cause"] == "needless_graph", first
    assert first["holder"].startswith("global kept[0.."), first
    assert first["holder"].endswith("].grad_fn → SquareBackward → saved"), first


def test_a_package_in_a_folder_of_pythonpath_is_a_library(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    packages = tmp_path / "packages"
    (packages / "hoard").mkdir(parents=True)
    (packages / "hoard/__init__.py").write_text(
        "import torch\nstore = []\n\n\ndef keep(size: int) -> None:\n"
        '    store.append(torch.zeros(size // 4, device="cuda"))\n'
    )
    for is_installed in (False, True):
        if is_installed:
            (packages / "hoard-1.0.dist-info").mkdir()
        env = OBSERVED | {"PYTHONPATH": str(packages)}
        job = rehearse(python, OWN / "uses_package.py", card=CARD, env=env)
        assert "OutOfMemoryError" in job.err, job.err[-2000:]
        first = job.analysis()["out_of_memory"][-1]["would_fit"][0]
        place = "uses_package.py:8 <module>" if is_installed else "__init__.py:6 keep"
        assert first["place"] == place, first
        assert first["holder"].startswith("global hoard.store[0.."), first


@BOTH
def test_no_code_of_the_program_runs_and_nothing_is_kept(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    card = "h200,memory=240MiB,values=off"
    job = rehearse(python, OWN / "hostile.py", card=card, env=settings)
    assert job.status == 0, job.err[-2000:]
    lines = dict(line.split(" ", 1) for line in job.out.splitlines())
    assert job.out.splitlines()[0] == "calls []"
    assert "same references True" in job.out
    assert "same collector True" in job.out
    assert lines["error"] == "CUDA out of memory"
    told = holders_of(job)
    assert {"global objects[0..2].kept", "global watched", 'global table["a"]'} <= set(told), told


def test_the_collector_stays_off_where_the_program_has_switched_it_off(
    rehearse: Rehearse, python: str
) -> None:
    card = "h200,memory=240MiB,values=off"
    job = rehearse(python, OWN / "hostile.py", "disabled", card=card, env=OBSERVED)
    assert "same collector True" in job.out, job.err[-2000:]


def test_threads_that_fail_while_the_collector_runs_go_on(rehearse: Rehearse, python: str) -> None:
    card = "h200,memory=2GiB,values=off"
    job = rehearse(python, OWN / "many_failures.py", "125", card=card, env=OBSERVED)
    assert job.status == 0, job.err[-2000:]
    assert "failed 1000" in job.out


def test_beside_millions_of_objects_it_says_what_it_did_not_reach(
    rehearse: Rehearse, python: str
) -> None:
    card = "h200,memory=240MiB,values=off"
    job = rehearse(python, OWN / "many_objects.py", "10000000", card=card, env=OBSERVED)
    assert job.status == 0, job.err[-2000:]
    grown = int(job.out.partition("grown ")[2].split()[0])
    assert grown <= 100 + 20, "MiB"
    assert "global kept" in holders_of(job)


def test_census_off_looks_at_nothing(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, OWN / "holders.py", card=CARD, env=OBSERVED | {"VRAMSTOW_CENSUS": "off"})
    last = job.analysis()["out_of_memory"][-1]
    assert last["holders"] == []
    assert last["bytes_without_holder"] is None


@POOLED_SELDOM
def test_a_program_that_is_forked_while_it_is_looked_at_goes_on(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    card = "h200,memory=2GiB,values=off"
    job = rehearse(python, OWN / "census_forked.py", card=card, env=settings | PACKAGE)
    assert job.status == 0, job.err[-2000:]
    assert job.out == f"children {[0] * 10}\nfailed 41\n"


@pytest.mark.parametrize("how", [pytest.param("return", marks=pytest.mark.long), "exit"])
@POOLED_SELDOM
def test_a_program_that_ends_while_it_is_looked_at_ends(
    rehearse: Rehearse,
    python: str,
    settings: dict[str, str],
    how: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    card = "h200,memory=240MiB,values=off"
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        (tmp_path / "asked").unlink(missing_ok=True)
        job = rehearse(python, OWN / "census_at_exit.py", how, card=card, env=settings, timeout=60)
        assert (job.status, job.out) == (0, "at exit\n"), job.err[-2000:]


@POOLED_SELDOM
def test_what_generators_and_coroutines_hold_while_they_run_is_told(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    card = "h200,memory=240MiB,values=off"
    job = rehearse(python, OWN / "census_running.py", card=card, env=settings)
    assert job.status == 0, job.err[-2000:]
    assert "failed in a generator\nfailed in a coroutine\nfailed in a comprehension" in job.out
    assert "failed in a thread" in job.out
    failures = job.analysis()["out_of_memory"]
    told = [{row["holder"] for row in failure["holders"]} for failure in failures]
    assert "produce: batch" in told[0]
    assert "serve: request" in told[1]
    assert "Worker.run: weights" in told[3], told[3]


@POOLED_SELDOM
def test_censuses_leave_nothing_behind(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    card = "h200,memory=240MiB,values=off"
    job = rehearse(python, OWN / "census_repeated.py", "300", card=card, env=settings)
    assert job.status == 0, job.err[-2000:]
    lines = job.out.splitlines()
    assert int(lines[0].split()[1]) <= 8, "MiB of the host"
    assert lines[1:] == ["objects 0 bytes 0", "same references True"]


@POOLED_SELDOM
def test_the_program_and_ctl_can_ask_for_one(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    card = "h200,memory=480MiB,values=off"
    job = rehearse(python, OWN / "census_asked.py", card=card, env=settings | PACKAGE)
    assert job.status == 0, job.err[-2000:]
    assert "before CUDA None\n" in job.out
    holder = "train: history[0..2]"
    assert f"{holder} (float32 [2097152]" in job.out
    lines = [line for line in job.out.splitlines() if line.startswith("asked")]
    (asked,) = [line for line in lines if f" {holder} (" in line]
    size, blocks = (int(word) for word in asked.split()[1:3])
    assert (size, blocks) == (3 * 8 * 1024 * 1024, 3)
    assert f"24.0 MiB in 3 blocks: {holder}" in job.out
    (told,) = [json.loads(line) for line in job.out.splitlines() if line.startswith("{")]
    assert holder in [row["holder"] for row in told["holders"]]
    assert told["found_bytes"] <= told["live_bytes"]
    # A text that is too short for one group is VRAMSTOW_INVALID, and no part of a line of JSON.
    assert "short 2 b''" in job.out.splitlines()


@POOLED_SELDOM
def test_small_tensors_beside_large_ones_are_found_to_the_last(
    rehearse: Rehearse, python: str, settings: dict[str, str]
) -> None:
    card = "h200,values=off"
    job = rehearse(python, OWN / "census_small.py", card=card, env=settings | PACKAGE)
    assert job.status == 0, job.err[-2000:]
    assert job.out.splitlines() == ["1 block: global large", "40 blocks: global small[0..39]"]


def test_by_default_what_is_compiled_is_used(rehearse: Rehearse, python: str) -> None:
    subprocess.run([VRAMSTOW, "adapter", "build", "--census", "--torch", TORCH], check=True)
    job = rehearse(python, OWN / "holders.py", card=CARD, env={"VRAMSTOW_CENSUS": "auto"})
    assert "OutOfMemoryError" in job.err, job.err[-2000:]
    assert HOLDERS.items() <= holders_of(job).items()


@pytest.mark.long
def test_by_default_the_first_run_names_who_holds_the_memory(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    """Compiles nothing before the first run."""
    env = {"VRAMSTOW_ADAPTER_DIR": str(tmp_path / "adapters"), "VRAMSTOW_CENSUS": "auto"}
    first = rehearse(python, OWN / "holders.py", card=CARD, env=env)
    assert HOLDERS.items() <= holders_of(first).items()
    assert first.err.count("compiling libraries") <= 1


def test_of_a_release_that_it_does_not_know_nothing_is_compiled_or_said(tmp_path: Path) -> None:
    """Uses a copy of the real PyTorch that reports another release."""
    other = tmp_path / "torch"
    (other / "lib").mkdir(parents=True)
    (other / "lib/libc10_cuda.so").touch()
    (other / "include").symlink_to(TORCH / "include")
    about = other / "share/cmake/Torch"
    about.mkdir(parents=True)
    shutil.copy(TORCH / "share/cmake/Torch/TorchConfig.cmake", about)
    (about / "TorchConfigVersion.cmake").write_text('set(PACKAGE_VERSION "2.3.1")\n')
    build = [VRAMSTOW, "adapter", "build", "--census", "--torch", other]
    folder = tmp_path / "adapters"
    done = run_program(*build, env=os.environ | {"VRAMSTOW_ADAPTER_DIR": str(folder)})
    assert done.returncode == 3, done.stderr
    assert "who holds tensors" in done.stderr
    assert list(folder.iterdir()) == []


def found_by_compiler(name: str) -> str:
    done = run_program("g++", f"-print-file-name={name}", check=True)
    return done.stdout.strip()


@pytest.mark.long
def test_the_address_sanitizer_has_nothing_to_say(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    """Compiles census and collection with the sanitizer, but not the rest of the process."""
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nexec g++ -fsanitize=address "$@"\n')
    compiler.chmod(0o755)
    folder = {"VRAMSTOW_ADAPTER_DIR": str(tmp_path / "adapters")}
    for kind, extra in (("--observer", {}), ("--census", {"CXX": str(compiler)})):
        subprocess.run(
            [VRAMSTOW, "adapter", "build", kind, "--torch", TORCH],
            check=True,
            env=os.environ | folder | extra,
        )
    settings = folder | {
        "LD_PRELOAD": f"{found_by_compiler('libasan.so')} {found_by_compiler('libstdc++.so.6')}",
        "ASAN_OPTIONS": f"detect_leaks=0,verify_asan_link_order=0,log_path={tmp_path}/asan",
    }
    roomy = "h200,memory=2GiB,values=off"
    failing = rehearse(
        python, OWN / "many_failures.py", "125", card=roomy, env=OBSERVED | settings, timeout=300
    )
    assert "failed 1000" in failing.out, failing.err[-2000:]
    for program in ("holders.py", "hostile.py", "trainees.py"):
        card = "h200,memory=240MiB,values=off" if program == "hostile.py" else CARD
        job = rehearse(python, OWN / program, card=card, env=OBSERVED | settings, timeout=120)
        # The folder has the traces of the programs before, too.
        job.traces = [trace for trace in job.traces if trace.name.startswith(Path(program).stem)]
        assert holders_of(job), job.err[-2000:]
    for way in ("backward", "threads", "quarrel"):
        collect = POOLED | settings | {"VRAMSTOW_COLLECT": "on"}
        card = "h200,memory=1GiB,values=off"
        job = rehearse(python, OWN / "cycles.py", way, "60", card=card, env=collect, timeout=120)
        assert job.out.endswith(f"done {way}\n"), job.err[-2000:]
    assert not list(tmp_path.glob("asan.*"))
