"""The tensors of programs on LibTorch, without Python in the process, are served from the pool,
too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from built import VRAMSTOW, events_of, run_program
from jobs_conftest import EXAMPLES, Rehearsal

torch = pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
pytestmark = pytest.mark.long

Rehearse = Callable[..., Rehearsal]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the example against the wheel's LibTorch."""
    folder = tmp_path_factory.mktemp("libtorch")
    where = Path(torch.__file__).resolve().parent
    for command in (
        ("cmake", "-S", EXAMPLES / "libtorch", "-B", folder, "-G", "Ninja", f"-DTORCH={where}"),
        ("cmake", "--build", folder),
    ):
        run_program(*command, check=True)
    return folder / "train"


def tensor_events(trace: Path) -> list[dict[str, str]]:
    rows = events_of(trace)
    return [row for row in rows if "/torch-2." in row["library"]]


def test_a_cxx_program_trains_with_its_tensors_in_the_pool(
    rehearse: Rehearse, train: Path, tmp_path: Path
) -> None:
    settings = {"VRAMSTOW_POOL": "on", "VRAMSTOW_CHECK": "1"}
    settings["VRAMSTOW_ADAPTER_DIR"] = str(tmp_path)
    native = rehearse(train, "5", env={"VRAMSTOW_POOL": "off"})
    (line,) = [line for line in native.err.splitlines() if "not its tensors" in line]
    assert "observed through Python, and this program has no Python" in line
    for left in [*native.traces, *native.call_logs]:
        left.unlink()
    job = rehearse(train, "5", env=settings)
    assert job.status == 0, job.err[-4000:]
    assert "not its tensors" not in job.err, job.err[-2000:]
    assert job.out == native.out
    assert len(job.out.splitlines()) == 5
    job.assert_trace_equals_call_log()
    (trace,) = job.traces
    events = tensor_events(trace)
    made = [row for row in events if row["kind"] == "allocate"]
    gone = [row for row in events if row["kind"] == "free"]
    # The model has two weights and two biases. For each there are a gradient and Adam's two
    # moments. A weight has at least 256 x 64 numbers.
    assert len(made) > 5 * 10
    assert 0 <= len(made) - len(gone) < 40
    # The pool's memory equals the driver's memory exactly: created chunks minus released chunks.
    facts = job.analysis()
    assert facts["peak"]["reserved_bytes"] >= facts["peak"]["allocated_bytes"] > 0
    assert sum(int(row["requested"]) for row in made) > 256 * 64 * 4 * 4


def test_what_a_cxx_program_prints_is_computed(
    rehearse: Rehearse, train: Path, tmp_path: Path
) -> None:
    settings = {"VRAMSTOW_POOL": "off", "VRAMSTOW_ADAPTER_DIR": str(tmp_path / "adapters")}
    job = rehearse(train, "5", env=settings, card="h200,kernels=list")
    assert job.status == 0, job.err[-4000:]
    losses = [float(line.split()[-1]) for line in job.out.splitlines()]
    # The loss is the mean square of the target, which has a variance of 1, and of small outputs.
    assert len(losses) == 5 and all(0.8 < loss < 1.6 for loss in losses), job.out
    assert "without effect" not in job.err, job.err[-4000:]
    for left in [*job.traces, *job.call_logs]:
        left.unlink()
    # A user who sets LD_PRELOAD by hand reads on stderr how to get the same results.
    done = preloaded_by_hand(train, VRAMSTOW_ADAPTER_DIR=str(tmp_path / "none"))
    (line,) = [line for line in done.stderr.splitlines() if "computes nothing" in line]
    assert "vramstow adapter build --values --torch" in line
    assert "loss 0" in done.stdout
    off = rehearse(train, "1", env=settings, card="h200,values=off")
    assert off.out == "step 0: loss 0\n", off.err[-2000:]


def test_without_a_compiler_it_runs_at_segment_level(
    rehearse: Rehearse, train: Path, tmp_path: Path
) -> None:
    settings = {"VRAMSTOW_POOL": "on", "VRAMSTOW_ADAPTER_DIR": str(tmp_path)}
    job = rehearse(train, "2", env=settings | {"PATH": str(tmp_path), "CXX": ""})
    assert job.status == 0, job.err[-4000:]
    lines = [line for line in job.err.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and "no C++ compiler" in lines[0], job.err
    job.assert_trace_equals_call_log()


def preloaded_by_hand(train: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs one step of the program with the libraries preloaded, without `vramstow run`."""
    lib = VRAMSTOW.parent.parent / "lib"
    simulator = lib / "vramstow/simulator"
    preload = [lib / "libvramstow.so", *sorted(simulator.glob("libcu*.so.13"))]
    preload += [simulator / "libcudnn.so.9"]
    return run_program(
        train,
        "1",
        env=os.environ
        | {
            "LD_PRELOAD": ":".join(map(str, preload)),
            "LD_LIBRARY_PATH": str(simulator),
            "VRAMSTOW_SIMULATE": "h200",
            "VRAMSTOW_POOL": "on",
            "VRAMSTOW_TRACE": "0",
        }
        | variables,
    )


def test_without_a_ready_adapter_it_is_told_how_to_get_one_and_nothing_is_compiled(
    train: Path, tmp_path: Path
) -> None:
    done = preloaded_by_hand(train, VRAMSTOW_ADAPTER_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stderr.splitlines() if "not its tensors" in line]
    folder = Path(torch.__file__).resolve().parent
    assert len(lines) == 1, done.stderr
    assert f"vramstow adapter build --torch '{folder}'" in lines[0], lines
    assert not list(tmp_path.iterdir())


def test_a_program_that_a_script_starts_gets_the_adapter_that_was_built_before(
    rehearse: Rehearse, train: Path, tmp_path: Path
) -> None:
    """The script is not linked to PyTorch, so vramstow cannot know which PyTorch its child will
    use."""
    settings = {"VRAMSTOW_POOL": "on", "VRAMSTOW_ADAPTER_DIR": str(tmp_path / "adapters")}
    script = ("sh", "-c", '"$0" 1', train)
    before = rehearse(*script, env=settings)
    assert before.status == 0, before.err[-4000:]
    assert "vramstow adapter build --torch" in before.err
    for left in [*before.traces, *before.call_logs]:
        left.unlink()
    folder = Path(torch.__file__).resolve().parent
    subprocess.run(
        [VRAMSTOW, "adapter", "build", "--torch", folder],
        check=True,
        capture_output=True,
        env=os.environ | settings,
    )
    after = rehearse(*script, env=settings)
    assert after.status == 0, after.err[-4000:]
    assert "not its tensors" not in after.err, after.err[-2000:]
    assert tensor_events(after.traces[0])


def test_at_segment_level_no_allocator_is_built(
    rehearse: Rehearse, train: Path, tmp_path: Path
) -> None:
    """The level affects only what vramstow records, not what a simulated run computes."""
    settings = {"VRAMSTOW_POOL": "on", "VRAMSTOW_LEVEL": "segments"}
    folder = tmp_path / "adapters"
    folder.mkdir()
    job = rehearse(train, "1", env=settings | {"VRAMSTOW_ADAPTER_DIR": str(folder)})
    assert job.status == 0, job.err[-4000:]
    assert not [file.name for file in folder.iterdir() if "-values-" not in file.name]
    assert not tensor_events(job.traces[0])
