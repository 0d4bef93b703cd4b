"""The pool serves PyTorch's tensors: the same jobs give the same numbers and the same requests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from built import events_of, iterations_among, run_vramstow
from jobs_conftest import EXAMPLES, PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]
NATIVE = {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "segments"}


@pytest.fixture(scope="session")
def tensors(adapter_folder: str) -> dict[str, str]:
    """Returns the settings of tensor level, with one compiled adapter for all tests."""
    return {
        "VRAMSTOW_POOL": "on",
        "VRAMSTOW_LEVEL": "tensors",
        "VRAMSTOW_CHECK": "1",
        "VRAMSTOW_ADAPTER_DIR": adapter_folder,
    }


def assert_served(job: Rehearsal) -> None:
    """Checks that the job succeeded, that its tensors are in the trace, and that the trace equals
    the driver's call log."""
    assert job.status == 0, job.err[-4000:]
    assert "not its tensors" not in job.err, job.err[-2000:]
    assert "report this" not in job.err, job.err[-2000:]
    job.assert_trace_equals_call_log()
    assert comes_from_adapter(job)


def comes_from_adapter(job: Rehearsal) -> bool:
    return "/torch-2." in json.dumps(job.analysis()["by_library"])


@pytest.mark.parametrize(
    ("example", "steps"),
    [
        ("mlp.py", "4"),
        pytest.param("transformer.py", "2", marks=pytest.mark.long),
        pytest.param("cuda_graph.py", None, marks=pytest.mark.long),
        pytest.param("convnet.py", "3", marks=pytest.mark.long),
        pytest.param("lstm.py", "3", marks=pytest.mark.long),
        pytest.param("attention.py", "1", marks=pytest.mark.long),
    ],
)
def test_a_job_makes_the_same_requests(
    rehearse: Rehearse,
    python: str,
    tmp_path: Path,
    tensors: dict[str, str],
    example: str,
    steps: str | None,
) -> None:
    requests = {}
    for name, env in (("native", NATIVE), ("tensors", tensors)):
        target = tmp_path / f"{name}.json"
        arguments = ["--steps", steps] if steps is not None else []
        job = rehearse(python, OWN / "watched.py", target, EXAMPLES / example, *arguments, env=env)
        assert job.status == 0, job.err[-4000:]
        if env is tensors:
            assert "not its tensors" not in job.err, job.err[-2000:]
        requests[name] = json.loads(target.read_text())
    native, served = requests["native"], requests["tensors"]
    # Two frees with the same time have no fixed order, even in two runs with PyTorch's own
    # allocator.
    assert [entry for entry in native if entry[0] != "free_requested"] == [
        entry for entry in served if entry[0] != "free_requested"
    ]
    assert sorted(native) == sorted(served)
    assert len(native) > 10


@pytest.mark.parametrize("level", ["native", "tensors"])
def test_what_the_device_has_free_is_in_the_trace(
    rehearse: Rehearse, python: str, tensors: dict[str, str], level: str
) -> None:
    program = """
import time, torch
print(torch.cuda.mem_get_info()[0])
first = torch.empty(200 << 20, dtype=torch.uint8, device="cuda")
time.sleep(1.1)
more = torch.empty(300 << 20, dtype=torch.uint8, device="cuda")
"""
    job = rehearse(python, "-c", program, env=tensors if level == "tensors" else NATIVE)
    assert job.status == 0, job.err[-4000:]
    (device,) = job.analysis()["devices"]
    assert device["free_bytes_at_start"] == int(job.out)
    # The library reads the free memory again after a second. This may happen before or after the
    # second block is allocated.
    assert int(job.out) - device["lowest_free_bytes"] >= 200 << 20


def test_memory_that_passes_to_small_blocks_is_reserved_once(
    rehearse: Rehearse, python: str, tensors: dict[str, str]
) -> None:
    program = """
import torch
large = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
del large
small = torch.empty(1024, dtype=torch.uint8, device="cuda")
print(torch.cuda.max_memory_reserved())
"""
    job = rehearse(python, "-c", program, env=tensors)
    assert_served(job)
    assert int(job.out) == 8 << 20 == job.analysis()["peak"]["reserved_bytes"]


@pytest.mark.parametrize("level", ["native", "tensors"])
def test_cached_memory_is_known_while_no_tensor_has_it(
    rehearse: Rehearse, python: str, tensors: dict[str, str], level: str
) -> None:
    env = tensors if level == "tensors" else NATIVE
    job = rehearse(python, OWN / "weak_tensors.py", env=env)
    assert job.status == 0, job.err[-4000:]
    device, unknown = 2, 0  # values of cudaMemoryType
    assert json.loads(job.out) == {
        "types": {"small": device, "large": device, "given back": unknown},
        "output": 6.0,
    }


@pytest.mark.long
def test_a_network_learns_the_same_as_on_the_cpu(
    rehearse: Rehearse, python: str, tensors: dict[str, str]
) -> None:
    job = rehearse(python, PROGRAMS / "train_like_cpu.py", "Adam", env=tensors)
    assert_served(job)
    losses = [tuple(map(float, line.split())) for line in job.out.splitlines()]
    assert len(losses) == 30
    assert all(card == pytest.approx(host, rel=1e-3, abs=1e-4) for card, host in losses)


def told_by_trace(job: Rehearsal) -> list[dict[str, int]]:
    """Returns the values of the trace at each iteration's mark, with the names of memory_stats."""
    (trace,) = job.traces
    live: dict[str, dict[str, tuple[int, int]]] = {"tensor": {}, "chunk": {}}
    steps = []
    rows = events_of(trace)
    iterations = iterations_among(rows)
    for row in rows:
        kind, place = row["kind"], row["address"]
        if row["sequence"] in iterations:
            assert int(row["size"]) == len(steps)
            told = {"allocation": len(live["tensor"])}
            told["allocated_bytes"] = sum(size for size, _ in live["tensor"].values())
            told["requested_bytes"] = sum(asked for _, asked in live["tensor"].values())
            told["reserved_bytes"] = sum(size for size, _ in live["chunk"].values())
            steps.append(told)
        if kind not in ("allocate", "free"):
            continue
        of = live["chunk" if row["memory"] == "physical" else "tensor"]
        if kind == "free":
            del of[place]
        elif row["result"] == "0":
            of[place] = int(row["size"]), int(row["requested"])
    return steps


def test_every_number_agrees_with_every_other_the_call_log_and_the_trace_at_every_step(
    rehearse: Rehearse, python: str, tensors: dict[str, str]
) -> None:
    package = {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "python")}
    job = rehearse(python, OWN / "every_number.py", env=tensors | package)
    assert_served(job)
    said = json.loads(job.out)
    traced = told_by_trace(job)
    assert len(traced) == len(said["steps"]) == 300
    for step, (stats, trace) in enumerate(zip(said["steps"], traced, strict=True)):
        for key in ("allocation", "allocated_bytes", "reserved_bytes"):
            assert stats[key] == trace[key], (step, key)
        # A block that was freed but is still used by another stream counts as active, and its bytes
        # as requested.
        assert stats["requested_bytes"] >= trace["requested_bytes"], step
        assert stats["active_bytes"] >= trace["allocated_bytes"], step
    native = rehearse(python, OWN / "every_number.py", env=NATIVE | package)
    assert native.status == 0, native.err[-4000:]
    told = json.loads(native.out)
    assert told["keys"] == said["keys"]
    assert [step["allocation"] for step in told["steps"]] == [
        step["allocation"] for step in said["steps"]
    ]


def test_graphs_pools_and_limits(rehearse: Rehearse, python: str, tensors: dict[str, str]) -> None:
    card = "h200,effects=64MiB"  # the program reads larger tensors
    job = rehearse(python, OWN / "graphs.py", env=tensors, card=card)
    assert_served(job)
    assert job.out == rehearse(python, OWN / "graphs.py", env=NATIVE, card=card).out


@pytest.mark.long
@pytest.mark.parametrize("level", ["native", "tensors"])
def test_pools_with_an_allocator_of_the_programs_own(
    rehearse: Rehearse, python: str, tensors: dict[str, str], tmp_path: Path, level: str
) -> None:
    library = tmp_path / "own.so"
    own = OWN / "own_allocator.cc"
    subprocess.run(["c++", "-shared", "-fPIC", "-o", library, own], check=True)
    env = NATIVE if level == "native" else tensors
    job = rehearse(python, OWN / "own_allocator.py", library, env=env)
    assert job.status == 0, job.err[-4000:]
    assert "not its tensors" not in job.err, job.err[-2000:]
    assert job.out.splitlines()[-1] == "all is as it should be"


@pytest.mark.long
def test_tensors_are_shared_between_processes(
    rehearse: Rehearse, python: str, tensors: dict[str, str], tmp_path: Path
) -> None:
    control = {"VRAMSTOW_CONTROL_DIR": str(tmp_path)}
    job = rehearse(python, PROGRAMS / "share_tensors.py", env=tensors | control)
    assert job.status == 0, job.err[-4000:]
    assert "written there [0.0, 1.0, 2.0, 3.0]" in job.out
    assert "sum here 7000.0" in job.out
    assert "exit 0" in job.out


def test_a_forked_child_may_drop_the_parents_tensors(
    rehearse: Rehearse, python: str, tensors: dict[str, str]
) -> None:
    """Workers that load data do so in collections; PyTorch's own allocator permits it."""
    program = (
        "import os, torch\n"
        "kept = [torch.full((1 << 10,), 7.0, device='cuda') for _ in range(4)]\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    kept.clear()\n"
        "    os._exit(0)\n"
        "print(os.waitpid(child, 0)[1], sum(part.sum().item() for part in kept))\n"
    )
    job = rehearse(python, "-c", program, env=tensors)
    assert (job.status, job.out) == (0, f"0 {4 * 7.0 * (1 << 10)}\n"), job.err[-4000:]


def test_out_of_memory_says_what_is_free_and_who_holds_what(
    rehearse: Rehearse, python: str, tensors: dict[str, str]
) -> None:
    program = (
        "import torch\n"
        "kept = torch.empty(100 << 20, dtype=torch.uint8, device='cuda')\n"
        "try:\n"
        "    torch.empty(1000 << 20, dtype=torch.uint8, device='cuda')\n"
        "except torch.OutOfMemoryError as error:\n"
        "    print(error)\n"
        "print(torch.empty(50 << 20, dtype=torch.uint8, device='cuda').numel())\n"
    )
    job = rehearse(python, "-c", program, card="h200,memory=1GiB", env=tensors)
    assert_served(job)
    message, numel = job.out.splitlines()
    assert message.startswith(
        "CUDA out of memory. Tried to allocate 1000.00 MiB. GPU 0 has a total"
    )
    assert "the largest free range is" in message
    assert "The largest live blocks: 100.00 MiB at 0x" in message
    assert numel == str(50 << 20)


REFUSED = """
import torch
MIB = 1 << 20
def block(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
torch.cuda.memory._record_memory_history(max_entries=10_000)
kept = [block(4 * 2 ** i) for i in range(7)]
try:
    block(3200)
except torch.OutOfMemoryError as error:
    print(str(error).split("PyTorch, and ")[1].split(" unallocated")[0])
print(torch.cuda.max_memory_reserved() // MIB, torch.cuda.memory_reserved() // MIB)
def entries():
    (first, *_) = torch.cuda.memory._snapshot()["device_traces"]
    return [entry["size"] // MIB for entry in first if entry["action"] == "alloc"]
torch.cuda.memory._record_memory_history(max_entries=4)
print(entries())
more = block(1)
print(entries()[-1])
"""


def test_a_refused_request_leaves_no_reserved_memory_and_no_lost_history(
    rehearse: Rehearse, python: str, tensors: dict[str, str]
) -> None:
    said = []
    for env in (tensors, {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "segments"}):
        job = rehearse(python, "-c", REFUSED, card="h200,memory=4GiB", env=env)
        assert job.status == 0, job.err[-4000:]
        said.append(job.out.splitlines())
    with_pool, native = said
    assert with_pool[0].startswith("0 bytes is reserved"), with_pool
    assert with_pool[1] == "508 508", with_pool
    assert with_pool[2] == "[4, 8, 16, 32, 64, 128, 256]"
    assert native[2] in (with_pool[2], "[]")  # what older releases do
    assert with_pool[3] == "1"


def test_without_a_compiler_the_job_runs_at_segment_level(
    rehearse: Rehearse, python: str, tensors: dict[str, str], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    program = "import torch\nprint(torch.ones(3, device='cuda').shape)\n"
    job = rehearse(
        python,
        "-c",
        program,
        env=tensors | {"PATH": str(empty), "CXX": "", "VRAMSTOW_ADAPTER_DIR": str(tmp_path)},
    )
    assert job.status == 0, job.err[-4000:]
    assert job.out == "torch.Size([3])\n"
    lines = [line for line in job.err.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and "no C++ compiler" in lines[0], job.err
    assert not comes_from_adapter(job)


def test_a_program_may_ask_where_torch_is_before_it_imports_it(
    rehearse: Rehearse, python: str, tensors: dict[str, str]
) -> None:
    """transformers does so; a finder that asks all finders must not recurse endlessly."""
    program = (
        "import sys\n"
        "from importlib.util import find_spec\n"
        "class Asks:\n"
        "    asked = 0\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch' and not self.asked:\n"
        "            self.asked = 1\n"
        "            try:\n"
        "                return find_spec(name)\n"
        "            finally:\n"
        "                self.asked = 0\n"
        "sys.meta_path.append(Asks())\n"
        "for _ in range(2):\n"
        "    assert find_spec('torch').origin.endswith('__init__.py')\n"
        "import torch\n"
        "print(torch.ones(3, device='cuda').tolist())\n"
    )
    job = rehearse(python, "-c", program, env=tensors)
    assert_served(job)
    assert job.out == "[1.0, 1.0, 1.0]\n"


@pytest.mark.long
def test_a_users_own_sitecustomize_still_runs(
    rehearse: Rehearse, python: str, tensors: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')\n")
    job = rehearse(
        python,
        "-c",
        "import sys, torch; torch.ones(1, device='cuda'); print(sys.path.count('x'))",
        env=tensors | {"PYTHONPATH": str(tmp_path)},
    )
    assert_served(job)
    assert job.out == "mine\n0\n"


@pytest.mark.long
def test_the_package_tells_what_a_piece_of_code_did(
    rehearse: Rehearse, python: str, tensors: dict[str, str]
) -> None:
    program = (
        "import torch, vramstow\n"
        "assert vramstow.stats() is None and not vramstow.active()\n"
        "with vramstow.track('nothing yet') as nothing: pass\n"
        "print(nothing)\n"
        "kept = torch.empty(4 << 20, dtype=torch.uint8, device='cuda')\n"
        "lacking = []\n"
        "assert vramstow.on_pressure(lacking.append)\n"
        "@vramstow.track('forward')\n"
        "def forward():\n"
        "    torch.empty(16 << 20, dtype=torch.uint8, device='cuda')\n"
        "forward()\n"
        "with vramstow.track('work') as work:\n"
        "    torch.empty(32 << 20, dtype=torch.uint8, device='cuda')\n"
        "    more = torch.empty(2 << 20, dtype=torch.uint8, device='cuda')\n"
        "print(work)\n"
        "print(vramstow.empty_cache() > 0, vramstow.stats().allocated_bytes >> 20)\n"
        "try:\n"
        "    torch.empty(4 << 30, dtype=torch.uint8, device='cuda')\n"
        "except torch.OutOfMemoryError:\n"
        "    print('asked', len(lacking) > 0)\n"
    )
    package = str(Path(__file__).resolve().parents[2] / "python")
    job = rehearse(
        python, "-c", program, card="h200,memory=1GiB", env=tensors | {"PYTHONPATH": package}
    )
    assert_served(job)
    nothing, work, emptied, asked = job.out.splitlines()
    assert nothing.startswith("nothing yet: not known (vramstow's pool has served no memory yet")
    assert work.startswith("work: +2.0 MiB allocated, ")
    assert "peak 36.0 MiB, 2 allocations" in work
    assert emptied == "True 6"
    assert asked == "asked True"


def test_an_unknown_release_is_refused(tmp_path: Path) -> None:
    torch = tmp_path / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "lib/libc10_cuda.so").write_text("")
    (torch / "share/cmake/Torch").mkdir(parents=True)
    about = torch / "share/cmake/Torch/TorchConfigVersion.cmake"
    about.write_text('set(PACKAGE_VERSION "9.9.0")\n')
    refused = run_vramstow("adapter", "build", "--torch", torch, "--adapter-dir", tmp_path)
    assert refused.returncode == 1
    assert "PyTorch 9.9.0 has an allocator interface that this vramstow does not know" in (
        refused.stderr
    )
    assert len(refused.stderr.splitlines()) == 1


def test_adapters_are_built_listed_and_removed(
    python: str, tensors: dict[str, str], tmp_path: Path
) -> None:
    def ask(*arguments: str) -> str:
        done = run_vramstow(
            "adapter",
            *arguments,
            check=True,
            env=os.environ | {"VRAMSTOW_ADAPTER_DIR": str(tmp_path)},
        )
        return done.stdout

    where = "import importlib.util as u, os; print(os.path.dirname(u.find_spec('torch').origin))"
    folder = subprocess.check_output([python, "-c", where], text=True).strip()
    for built in Path(tensors["VRAMSTOW_ADAPTER_DIR"]).glob("torch-[0-9]*.so"):
        shutil.copy(built, tmp_path)
    path = ask("build", "--quiet", "--torch", folder).strip()
    assert Path(path).is_file()
    assert ask("build", "--quiet", "--torch", folder).strip() == path
    status = ask("status", "--torch", folder)
    assert ": built\n" in status and path in status
    assert ask("remove").startswith("removed 1 ")
    assert not Path(path).exists()
    assert "not built yet" in ask("status", "--torch", folder)
