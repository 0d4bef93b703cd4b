"""Observes PyTorch's own allocator: it behaves as usual, and the trace has its tensors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from built import VRAMSTOW, events_of, iterations_among, run_program
from jobs_conftest import EXAMPLES, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]
NATIVE = {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "segments"}


def levels_at_marks(trace: Path) -> list[list[int]]:
    """Returns the values of the trace at each iteration's mark, in the order of the numbers of
    every_step.py."""
    live: dict[str, tuple[int, int]] = {}
    pending: dict[str, tuple[int, int]] = {}
    reserved: dict[str, int] = {}
    levels = []
    rows = events_of(trace)
    iterations = iterations_among(rows)
    for row in rows:
        kind, place = row["kind"], row["address"]
        if row["sequence"] in iterations:
            active = [*live.values(), *pending.values()]
            levels.append(
                [
                    len(live),
                    sum(size for size, _ in live.values()),
                    sum(asked for _, asked in active),
                    sum(reserved.values()),
                    sum(size for size, _ in active),
                ]
            )
        elif row["call"] == "tensor":
            if kind == "allocate" and row["result"] == "0":
                live[place] = int(row["size"]), int(row["requested"])
            elif kind == "free":
                pending[place] = live.pop(place)
            elif kind == "free_completed":
                del pending[place]
        elif row["memory"] in ("device", "physical") and row["result"] == "0":
            if kind == "allocate":
                reserved[place] = int(row["size"])
            elif kind == "free":
                del reserved[place]
    return levels


def test_a_process_in_which_vramstow_is_not_active_is_not_told_of_older_versions(
    python: str, tmp_path: Path
) -> None:
    folder = tmp_path / "removed"
    job = f"import os; os.rmdir({str(folder)!r}); import torch; torch.ones(3, device='cuda')"
    done = run_program(
        *(VRAMSTOW, "run", "--simulate=h200", "--trace-dir", folder, "--", python, "-c", job),
        timeout=200,
        check=True,
    )
    assert "vramstow records nothing in this process" in done.stderr
    assert "vramstow is not active in this process" in done.stderr
    assert "older version" not in done.stderr


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "expandable_segments:True",
        pytest.param("roundup_power2_divisions:[1:1,256:4,>:8]", marks=pytest.mark.long),
        pytest.param("max_split_size_mb:21", marks=pytest.mark.long),
    ],
)
def test_the_trace_agrees_with_memory_stats_at_every_step_and_nothing_else_changes(
    rehearse: Rehearse, python: str, tmp_path: Path, observed: dict[str, str], settings: str
) -> None:
    conf = {"PYTORCH_CUDA_ALLOC_CONF": settings}
    target = tmp_path / "observed.json"
    job = rehearse(python, OWN / "every_step.py", target, env=observed | conf)
    assert job.status == 0, job.err[-4000:]
    assert "not its tensors" not in job.err, job.err[-2000:]
    told = json.loads(target.read_text())
    (trace,) = job.traces
    assert levels_at_marks(trace) == told["steps"]
    assert len(told["steps"]) == 200
    job.assert_trace_equals_call_log()
    peak = job.analysis()["peak"]
    assert peak["allocated_bytes"] >= max(step[1] for step in told["steps"])
    assert peak["reserved_bytes"] >= max(step[3] for step in told["steps"])
    assert peak["allocated_bytes"] <= peak["reserved_bytes"]
    trace.unlink()
    plain = tmp_path / "plain.json"
    native = rehearse(python, OWN / "every_step.py", plain, env=NATIVE | conf)
    assert native.status == 0, native.err[-4000:]
    without = json.loads(plain.read_text())
    assert without["steps"] == told["steps"]
    assert without["entries"] == told["entries"], "the same requests got other addresses"


@pytest.mark.parametrize(
    ("example", "steps"),
    [
        ("mlp.py", "2"),
        pytest.param("transformer.py", "1", marks=pytest.mark.long),
        pytest.param("cuda_graph.py", None, marks=pytest.mark.long),
        pytest.param("convnet.py", "2", marks=pytest.mark.long),
    ],
)
def test_a_job_makes_the_same_requests_with_and_without_the_observer(
    rehearse: Rehearse,
    python: str,
    tmp_path: Path,
    observed: dict[str, str],
    example: str,
    steps: str | None,
) -> None:
    requests = {}
    for name, env in (("native", NATIVE), ("observed", observed)):
        target = tmp_path / f"{name}.json"
        arguments = ["--steps", steps] if steps is not None else []
        job = rehearse(python, OWN / "watched.py", target, EXAMPLES / example, *arguments, env=env)
        assert job.status == 0, job.err[-4000:]
        assert "not its tensors" not in job.err, job.err[-2000:]
        requests[name] = json.loads(target.read_text())
    assert sorted(requests["native"]) == sorted(requests["observed"])
    assert len(requests["native"]) > 10


def test_a_callback_asks_neither_the_heap_nor_the_dynamic_linker(
    rehearse: Rehearse, python: str, tmp_path: Path, observed: dict[str, str]
) -> None:
    """The callback runs under PyTorch's lock, for which owners of those locks may wait."""
    library = tmp_path / "asks_nobody.so"
    source = OWN / "asks_nobody.cc"
    subprocess.run(["c++", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    env = observed | {"LD_PRELOAD": str(library), "VRAMSTOW_STACKS": "all"}
    job = rehearse(python, OWN / "asks_nobody.py", env=env)
    assert job.status == 0, job.err[-4000:]
    assert job.out == "0\n", job.err[-4000:]
    assert job.analysis()["counts"]["allocations"] > 9000
    assert "asks_nobody.py" in job.report(), "there are no stacks"


def test_an_out_of_memory_is_in_the_trace_and_the_message_is_pytorchs(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    program = (
        "import torch\n"
        "kept = torch.empty(100 << 20, dtype=torch.uint8, device='cuda')\n"
        "try:\n"
        "    torch.empty(1000 << 20, dtype=torch.uint8, device='cuda')\n"
        "except torch.cuda.OutOfMemoryError as error:\n"
        "    print(str(error).splitlines()[0][:60])\n"
    )
    job = rehearse(python, "-c", program, card="h200,memory=1GiB", env=observed)
    assert job.status == 0, job.err[-4000:]
    assert job.out.startswith("CUDA out of memory. Tried to allocate 1000.00 MiB.")
    assert job.analysis()["counts"]["out_of_memory"] == 1


SIDE = """
import torch
side = torch.cuda.Stream()
for _ in range(6):
    block = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    with torch.cuda.stream(side):
        block.add_(1)
    block.record_stream(side)
    del block
print(torch.cuda.max_memory_reserved())
"""


def test_a_free_that_waits_for_another_stream_leaves_its_memory_in_use_in_a_replay(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    job = rehearse(python, "-c", SIDE, card="h200,kernel-time=10s", env=observed)
    assert job.status == 0, job.err[-4000:]
    ran = run_program(VRAMSTOW, "replay", "--json", "--models=native", job.traces[0], check=True)
    (model,) = json.loads(ran.stdout)["models"]
    assert model["peak_reserved_bytes"] == int(job.out) == 6 * 64 << 20, ran.stdout


CHILD = "import torch; x = torch.empty(1 << 20, dtype=torch.uint8, device='cuda')"
PARENT = f"""
import os, subprocess, sys
ready = os.environ["VRAMSTOW_TORCH_OBSERVER"].split("\\n")
print(len(ready), os.path.exists(ready[1]))
{CHILD}
child = {CHILD!r} + "; print(os.environ['VRAMSTOW_TORCH_OBSERVER'] == sys.argv[1])"
subprocess.run([sys.executable, "-c", "import os, sys; " + child, "\\n".join(ready)], check=True)
"""


def test_a_second_run_by_default_finds_the_observer_and_hands_it_to_its_children(
    rehearse: Rehearse, python: str, tmp_path: Path, observed: dict[str, str]
) -> None:
    first = rehearse(python, "-c", CHILD, env=observed)
    assert first.status == 0, first.err[-4000:]
    first.traces[0].unlink()
    # Without VRAMSTOW_LEVEL the level is chosen automatically. Moreover, no compiler can be found
    # in this run.
    default = {key: value for key, value in observed.items() if key != "VRAMSTOW_LEVEL"}
    empty = tmp_path / "empty"
    empty.mkdir()
    job = rehearse(python, "-c", PARENT, env=default | {"PATH": str(empty), "CXX": ""})
    assert job.status == 0, job.err[-4000:]
    assert sorted(job.out.splitlines()) == ["2 True", "True"]
    assert "not its tensors" not in job.err, job.err[-2000:]
    assert len(job.traces) == 2
    for trace in job.traces:
        one = Rehearsal(0, "", "", [trace], []).analysis()
        tensors = {row["call"]: row["allocations"] for row in one["by_call"]}
        assert tensors["tensor"] == 1, trace


def test_an_uncaught_out_of_memory_ends_the_job_as_without_the_observer(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    program = "import torch\ntorch.empty(4 << 30, dtype=torch.uint8, device='cuda')\n"
    ends = {}
    for name, env in (("native", NATIVE), ("observed", observed)):
        job = rehearse(python, "-c", program, card="h200,memory=1GiB", env=env)
        ends[name] = job.status, job.out
        assert "OutOfMemoryError: CUDA out of memory" in job.err
    assert ends["native"] == ends["observed"] == (1, "")


def test_without_a_compiler_the_job_runs_and_one_line_says_so(
    rehearse: Rehearse, python: str, observed: dict[str, str], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    job = rehearse(
        python,
        "-c",
        "import torch\nprint(torch.ones(3, device='cuda').shape)\n",
        env=observed | {"PATH": str(empty), "CXX": "", "VRAMSTOW_ADAPTER_DIR": str(tmp_path)},
    )
    assert job.status == 0, job.err[-4000:]
    assert job.out == "torch.Size([3])\n"
    lines = [line for line in job.err.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and "no C++ compiler" in lines[0], job.err


def test_another_allocator_is_left_alone_and_one_line_says_so(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    job = rehearse(
        python,
        "-c",
        "import torch\nprint(torch.ones(3, device='cuda').tolist())\n",
        env=observed | {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
    )
    assert job.status == 0, job.err[-4000:]
    assert job.out == "[1.0, 1.0, 1.0]\n"
    lines = [line for line in job.err.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and "another allocator is chosen" in lines[0], job.err


def test_a_program_that_does_not_use_cuda_is_left_alone(
    rehearse: Rehearse, python: str, observed: dict[str, str]
) -> None:
    job = rehearse(python, "-c", "import torch\nprint(torch.ones(2).tolist())\n", env=observed)
    assert (job.status, job.out) == (0, "[1.0, 1.0]\n"), job.err
    assert not job.traces
    assert "not its tensors" not in job.err


def build_observer(torch: Path, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = (VRAMSTOW, "adapter", "build", "--observer", "--quiet", "--torch", torch)
    return run_program(*command, "--adapter-dir", folder, *more)


def make_release(packages: Path, release: str, real: Path | None = None) -> Path:
    """Returns the folder of a PyTorch that reports this release; its files are those of `real`."""
    torch = packages / "torch"
    about = torch / "share/cmake/Torch"
    about.mkdir(parents=True)
    (about / "TorchConfigVersion.cmake").write_text(f'set(PACKAGE_VERSION "{release}")\n')
    if real is None:
        (torch / "lib").mkdir()
        (torch / "lib/libc10_cuda.so").write_text("")
        return torch
    for part in ("lib", "include", "share/cmake/Torch/TorchConfig.cmake"):
        (torch / part).symlink_to(real / part)
    (packages / "nvidia").symlink_to(real.parent / "nvidia")
    return torch


@pytest.mark.parametrize("release", ["2.0.1", "2.3.1", "2.16.0", "9.9.0"])
def test_a_release_that_cannot_be_observed_is_refused(tmp_path: Path, release: str) -> None:
    refused = build_observer(make_release(tmp_path, release), tmp_path)
    assert refused.returncode == 1
    assert f"PyTorch {release} is not one that this vramstow can observe" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert ("--adapter-try" in refused.stderr) == (release in ("2.16.0", "9.9.0"))


def test_a_newer_release_is_tried_on_request_and_an_older_one_never(
    python: str, tmp_path: Path
) -> None:
    where = "import importlib.util as u, os; print(os.path.dirname(u.find_spec('torch').origin))"
    real = Path(subprocess.check_output([python, "-c", where], text=True).strip())
    newer = make_release(tmp_path / "newer", "2.16.0", real)
    tried = build_observer(newer, tmp_path, "--adapter-try")
    assert tried.returncode == 0, tried.stderr
    assert Path(tried.stdout.strip()).is_file()
    # PyTorch 2.17.0 stands for a release whose headers differ, so the observer cannot be compiled
    # with it.
    other = make_release(tmp_path / "other", "2.17.0")
    tried = build_observer(other, tmp_path, "--adapter-try")
    assert tried.returncode == 1
    assert "PyTorch 2.17.0 cannot be compiled" in tried.stderr.splitlines()[-1]
    assert len(tried.stderr.splitlines()) == 1
    older = make_release(tmp_path / "older", "2.1.2", real)
    assert build_observer(older, tmp_path, "--adapter-try").returncode == 1
