"""Runs every command that README, pages, help and messages print unchanged, in a fresh folder.

The folder has the files that commands expect: a job, traces, recordings. The GPU is simulated, so
that commands which need a GPU run, too. NOT_RUN lists the others with the reason.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import BUILD, run_program, run_vramstow
from installation import CUDA_BEGINS
from printed_commands import Printed, collected

# Commands that this test does not run, as patterns, with the reason.
NOT_RUN = {
    r"examples/techniques/|--nproc-per-node=2$|host=2GiB --stacks=all -- python$": (
        "measured with PyTorch, in minutes: examples/measure"
    ),
    r"python examples/": "needs PyTorch: tests/examples, readme_example.py",
    r"torchrun": "needs PyTorch: recipes_test.py",
    r"vramstow adapter build": "compiles for PyTorch, in a minute: tests/adapters",
    r"--serve=|--metrics=": "takes a port of this machine: top_serve_test.py, metrics_test.py",
    r"vramstow (ctl|top) 4711": "asks the reader's process: pool_api_test.cc, top_test.py",
    r"vramstow attach 4711": "enters the reader's process: tests/attach",
    r"vramstow collect": "needs DuckDB, or a network: collect_test.py",
    r"--to parquet": "needs pyarrow: export_binary_test.py",
    r"vramstow fidelity": "needs a recording of a card: fidelity's own tests",
    r"--merge profile.json": "needs a profile of the same process: merged_test.py",
    r"--models offload": "needs a trace that tells touches: residency_test.cc",
    r"build/bin/pool_compare|^vramstow replay X": "measures, in minutes: bench",
    r"vramstow completion": "writes into the reader's folders: completion_test.py",
    r"-- pytest": "runs the tests of the reader: tests/python/plugin_test.py",
    r"vramstow run -- \./vector_add": "a program of the reader's own",
    r"vramstow docs ": "makes the pages: docs_test.py",
    r"vramstow help workspaces": "an advice that the reader writes",
    r"doctor --probe": "what doctor asks of itself: doctor_test.py",
}
# The exit statuses of commands that may be other than 0 although nothing is wrong.
STATUS = {
    r"vramstow doctor": {0, 1},  # doctor finds a problem on this machine
    r"vramstow top$": {0, 2},  # no process runs
}

# Stands for any job and accepts any arguments.
JOB = f"""#!{sys.executable}
{CUDA_BEGINS}
for size in (8, 4, 16):
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size << 20)) == 0
    assert cuda.cuMemFree_v2(address) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(2 << 20)) == 0
"""

PRINTED = collected()


def reason_for(printed: Printed) -> str | None:
    found = [why for pattern, why in NOT_RUN.items() if re.search(pattern, printed.command)]
    return found[0] if found else None


TO_RUN = [one for one in PRINTED if not one.is_form and not one.is_name and reason_for(one) is None]


def environment(folder: Path) -> dict[str, str]:
    base = {name: value for name, value in os.environ.items() if "VRAMSTOW" not in name}
    return base | {
        "PATH": f"{BUILD / 'bin'}:{Path(sys.executable).parent}:{base['PATH']}",
        "VRAMSTOW_SIMULATE": "h200",
        "BROWSER": "true",
        "HOME": str(folder),
        "ASAN_OPTIONS": "verify_asan_link_order=0",
    }


def vramstow(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_vramstow(*arguments, cwd=folder, env=environment(folder), check=True, timeout=60)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a folder with a job and its results, as a reader of the commands has them."""
    folder = tmp_path_factory.mktemp("prepared")
    for job in ("train.py", "serve.py", "job.py", "job"):
        (folder / job).write_text(JOB)
        (folder / job).chmod(0o755)
    told = vramstow(folder, "run", "--", "python", "train.py").stderr
    [trace] = folder.glob("train-*.stow")
    # The summary prints a command, which is run as well.
    [command] = re.findall(r"^  analyse +(vramstow analyze .+)$", told, re.MULTILINE)
    subprocess.run(command, shell=True, check=True, cwd=folder, env=environment(folder))
    vramstow(folder, "export", trace.name, "--to", "snapshot", "-o", "snapshot.pickle")
    vramstow(folder, "export", trace.name, "--to", "rmm", "-o", "rmm_log.csv")
    (folder / "base.json").write_text(vramstow(folder, "analyze", "--json", trace.name).stdout)
    for name in ("run", "before", "after", "train-1125-2303-4711"):
        shutil.copy(trace, folder / f"{name}.stow")
    for name in ("before", "after"):
        shutil.copy(folder / "snapshot.pickle", folder / f"{name}.pickle")
    for name in ("runs", "traces", "base", "change"):
        (folder / name).mkdir()
        shutil.copy(trace, folder / name)
    return folder


def test_the_list_of_what_is_not_run_has_nothing_that_is_not_printed() -> None:
    for pattern in [*NOT_RUN, *STATUS]:
        assert any(re.search(pattern, one.command) for one in PRINTED), pattern
    assert len(TO_RUN) > 50


@pytest.mark.parametrize("printed", TO_RUN, ids=lambda one: one.command)
def test_a_printed_command_runs_as_it_stands(
    printed: Printed, prepared: Path, tmp_path: Path
) -> None:
    if "| jq" in printed.command and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    folder = tmp_path / "fresh"
    shutil.copytree(prepared, folder)
    done = run_program(
        *("bash", "-o", "pipefail", "-c", printed.command),
        cwd=folder,
        env=environment(folder),
        timeout=150,
    )
    wanted = next(
        (status for pattern, status in STATUS.items() if re.search(pattern, printed.command)), {0}
    )
    # `head` closes its end of the pipe early, so the command may fail with a broken pipe.
    wanted = wanted | ({141, 1} if "| head" in printed.command else set())
    assert done.returncode in wanted, (printed.where, done.stdout[-500:], done.stderr[-1000:])
