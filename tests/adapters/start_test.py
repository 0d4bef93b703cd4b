"""However Python is started, the adapter is loaded, or a message says why not."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW
from jobs_conftest import Rehearsal
from tensor_test import assert_served, comes_from_adapter, tensors  # noqa: F401

torch = pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
pytestmark = pytest.mark.long

Rehearse = Callable[..., Rehearsal]
PACKAGES = str(Path(torch.__file__).resolve().parents[1])
ONE = "import torch; print(torch.ones(3, device='cuda').sum().item())"


@pytest.fixture
def built(tensors: dict[str, str]) -> dict[str, str]:  # noqa: F811
    """Has the same settings as `tensors`, with a compiled adapter: without start-up files nothing
    would compile it."""
    command = [VRAMSTOW, "adapter", "build", "--torch", Path(torch.__file__).resolve().parent]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | tensors)
    return tensors


@pytest.mark.parametrize("flags", [("-I",), ("-E",), ("-S",), ("-I", "-S"), ("-s", "-B")])
def test_with_flags_that_keep_start_up_files_away(
    rehearse: Rehearse,
    python: str,
    built: dict[str, str],
    flags: tuple[str, ...],
) -> None:
    program = f"import sys; sys.path.append({PACKAGES!r}); {ONE}"
    job = rehearse(python, *flags, "-c", program, env=built)
    assert_served(job)
    assert job.out == "3.0\n"


def test_with_flags_and_no_adapter_it_is_said_once_how_to_get_one(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    job = rehearse(
        python,
        "-I",
        "-c",
        ONE,
        env=tensors | {"VRAMSTOW_ADAPTER_DIR": str(tmp_path)},
    )
    assert job.status == 0, job.err[-4000:]
    lines = [line for line in job.err.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and "vramstow adapter build --torch" in lines[0], job.err


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_without_the_pool_the_switch_that_keeps_the_observer_away_is_named(
    rehearse: Rehearse, python: str, flag: str
) -> None:
    job = rehearse(python, flag, "-c", f"import sys; sys.path.append({PACKAGES!r}); {ONE}")
    assert job.status == 0, job.err[-4000:]
    lines = [line for line in job.err.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and f"started with {flag} " in lines[0], job.err
    job.assert_trace_equals_call_log()


def test_in_a_virtual_environment(
    rehearse: Rehearse,
    tensors: dict[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    own = next(folder.glob("lib/python3*/site-packages"))
    (own / "more.pth").write_text(PACKAGES + "\n")
    (own / "sitecustomize.py").write_text("print('of the environment')\n")
    job = rehearse(folder / "bin/python", "-c", ONE, env=tensors)
    assert_served(job)
    assert job.out == "of the environment\n3.0\n"


def test_in_a_folder_as_conda_lays_it_out(
    rehearse: Rehearse,
    tensors: dict[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    """Makes a prefix with interpreter and library, but without pyvenv.cfg."""
    prefix = tmp_path / "conda"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "conda-meta").mkdir()
    interpreter = shutil.copy(os.path.realpath(sys.executable), prefix / "bin/python")
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = prefix / "lib" / name
    library.mkdir(parents=True)
    for entry in Path(sysconfig.get_path("stdlib")).iterdir():
        if entry.name not in ("site-packages", "dist-packages", "sitecustomize.py"):
            (library / entry.name).symlink_to(entry)
    program = f"import sys; assert sys.prefix == {str(prefix)!r}, sys.prefix; "
    program += f"sys.path.append({PACKAGES!r}); {ONE}"
    job = rehearse(interpreter, "-c", program, env=tensors)
    assert_served(job)
    assert job.out == "3.0\n"
    assert site.__file__


WORKERS = """
import sys, torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.full((4,), float(index))

if __name__ == "__main__":
    card = torch.ones(4, device="cuda")
    loader = DataLoader(Numbers(), batch_size=2, num_workers=2, pin_memory=True,
                        multiprocessing_context=sys.argv[1])
    total = 0.0
    for batch in loader:
        total += (batch.to("cuda", non_blocking=True) * card).sum().item()
    print(total)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_with_workers_that_load_data(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
    tmp_path: Path,
    method: str,
) -> None:
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    job = rehearse(python, script, method, env=tensors)
    assert_served(job)
    assert job.out == "112.0\n"


SPAWNED = """
import sys, torch, torch.multiprocessing as processes

def work(rank):
    print(rank, torch.ones(5, device="cuda").sum().item(), flush=True)

if __name__ == "__main__":
    context = processes.get_context(sys.argv[1])
    children = [context.Process(target=work, args=(rank,)) for rank in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print([child.exitcode for child in children])
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_in_child_processes_that_use_the_card(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
    tmp_path: Path,
    method: str,
) -> None:
    script = tmp_path / "children.py"
    script.write_text(SPAWNED)
    job = rehearse(python, script, method, env=tensors)
    assert_served(job)
    assert sorted(job.out.splitlines()) == ["0 5.0", "1 5.0", "[0, 0]"]
    assert len(job.traces) == 2
    assert job.analysis()["counts"]["allocations"] >= 2


NOTEBOOK = """
import sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
cells = [
    "import torch, vramstow",
    "x = torch.ones(3, device='cuda')",
    "with vramstow.track('cell') as tracked: y = torch.zeros(1 << 20, device='cuda')",
    "print(x.sum().item(), torch.cuda.memory_allocated(), tracked.peak_bytes >= 4 << 20)",
    "1 / 0",
    "del y; print(torch.cuda.memory_allocated())",
]
for cell in cells:
    client.execute_interactive(
        cell,
        timeout=120,
        output_hook=lambda message: print(
            (message["content"].get("text") or message["content"].get("ename", "")).strip()
        ),
    )
client.stop_channels()
manager.shutdown_kernel()
"""


def test_in_a_notebook(
    rehearse: Rehearse,
    tensors: dict[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    # A Jupyter kernel is a process of its own, which another process starts and ends.
    python = os.environ.get("VRAMSTOW_NOTEBOOK_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", "import ipykernel, torch"], capture_output=True)
    if found.returncode != 0:
        pytest.skip(f"{python} lacks ipykernel: pip install -r setup/requirements-notebook.txt")
    script = tmp_path / "notebook.py"
    script.write_text(NOTEBOOK)
    settings = {"PYTHONPATH": str(ROOT / "python"), "HOME": str(tmp_path)}
    job = rehearse(python, script, env=tensors | settings, timeout=280)
    assert_served(job)
    assert job.out.split() == ["3.0", "4194816", "True", "ZeroDivisionError", "512"]
    assert job.analysis()["counts"]["allocations"] >= 2


def test_under_torchrun(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    script = tmp_path / "rank.py"
    # torchrun runs Python unbuffered, and both ranks write into one pipe, so write whole lines
    # only.
    whole_lines = "sys.stdout.reconfigure(write_through=False, line_buffering=True)"
    script.write_text(f"import os, sys\n{whole_lines}\n{ONE}\nprint('rank', os.environ['RANK'])\n")
    job = rehearse(
        *(python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script),
        env=tensors,
    )
    assert_served(job)
    assert sorted(job.out.splitlines()) == ["3.0", "3.0", "rank 0", "rank 1"]
    # Only traces of ranks are counted, because the launcher may have a trace of its own.
    assert len([trace for trace in job.traces if "-rank" in trace.name]) == 2


def test_segments_are_left_to_pytorch_where_that_is_wanted(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
) -> None:
    job = rehearse(python, "-c", ONE, env=tensors | {"VRAMSTOW_LEVEL": "segments"})
    assert job.status == 0, job.err[-4000:]
    assert "not its tensors" not in job.err
    assert not comes_from_adapter(job)


def test_where_there_is_no_adapter_auto_takes_segments_and_says_so(
    rehearse: Rehearse,
    python: str,
    tensors: dict[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    unwritable = tmp_path / "file"
    unwritable.write_text("")
    job = rehearse(
        python,
        "-c",
        ONE,
        env=tensors | {"VRAMSTOW_LEVEL": "auto", "VRAMSTOW_ADAPTER_DIR": str(unwritable)},
    )
    assert job.status == 0, job.err[-4000:]
    lines = [line for line in job.err.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and "cannot write compiled adapters" in lines[0], job.err
