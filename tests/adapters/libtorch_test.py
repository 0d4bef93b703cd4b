"""Programs on LibTorch, with no Python in the process: their tensors are served, too."""

from __future__ import annotations

import csv
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import EXAMPLES, VRAMSTOW, Rehearsal

torch = pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
pytestmark = pytest.mark.long

Rehearse = Callable[..., Rehearsal]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built against the wheel's LibTorch."""
    folder = tmp_path_factory.mktemp("libtorch")
    where = Path(torch.__file__).resolve().parent
    for command in (
        ("cmake", "-S", EXAMPLES / "libtorch", "-B", folder, "-G", "Ninja", f"-DTORCH={where}"),
        ("cmake", "--build", folder),
    ):
        subprocess.run(command, check=True, capture_output=True, text=True)
    return folder / "train"


def tensor_events(trace: Path) -> list[dict[str, str]]:
    listing = subprocess.run(
        [VRAMSTOW, "export", trace, "--to", "csv"], check=True, capture_output=True, text=True
    )
    rows = csv.DictReader(listing.stdout.splitlines())
    return [row for row in rows if "/torch-2." in row["library"]]


def test_a_cxx_program_trains_with_its_tensors_in_the_pool(
    rehearse: Rehearse, train: Path, tmp_path: Path
) -> None:
    settings = {"VRAMSTOW_POOL": "on", "VRAMSTOW_CHECK": "1"}
    settings["VRAMSTOW_ADAPTER_DIR"] = str(tmp_path)
    native = rehearse(train, "5", env={"VRAMSTOW_POOL": "off"})
    for left in [*native.traces, *native.ledgers]:
        left.unlink()
    job = rehearse(train, "5", env=settings)
    assert job.status == 0, job.err[-4000:]
    assert "not its tensors" not in job.err, job.err[-2000:]
    assert job.out == native.out
    assert len(job.out.splitlines()) == 5
    job.assert_trace_equals_ledger()
    (trace,) = job.traces
    events = tensor_events(trace)
    made = [row for row in events if row["kind"] == "allocate"]
    gone = [row for row in events if row["kind"] == "free"]
    # Two weights, two biases, their gradients, Adam's two moments: of 256 x 64 numbers and more.
    assert len(made) > 5 * 10
    assert 0 <= len(made) - len(gone) < 40
    # The pool's memory is what the driver gave, to the byte: chunks made less chunks released.
    facts = job.analysis()
    assert facts["peak"]["reserved_bytes"] >= facts["peak"]["allocated_bytes"] > 0
    assert sum(int(row["requested"]) for row in made) > 256 * 64 * 4 * 4


def test_without_a_compiler_it_runs_at_segment_level(
    rehearse: Rehearse, train: Path, tmp_path: Path
) -> None:
    settings = {"VRAMSTOW_POOL": "on", "VRAMSTOW_ADAPTER_DIR": str(tmp_path)}
    job = rehearse(train, "2", env=settings | {"PATH": str(tmp_path), "CXX": ""})
    assert job.status == 0, job.err[-4000:]
    lines = [line for line in job.err.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and "no C++ compiler" in lines[0], job.err
    job.assert_trace_equals_ledger()


def test_a_missing_program_is_told_and_the_job_runs(
    rehearse: Rehearse, train: Path, tmp_path: Path
) -> None:
    """Preloaded by hand, without vramstow run's variable and beside no program."""
    library = tmp_path / "lib"
    library.mkdir()
    for name in ("libvramstow.so", "libvramstow-core.so"):
        (library / name).write_bytes((VRAMSTOW.parent.parent / "lib" / name).read_bytes())
    preload = [str(library / "libvramstow.so")]
    simulator = VRAMSTOW.parent.parent / "lib/vramstow/simulator"
    preload += sorted(str(path) for path in simulator.glob("libcu*.so.13"))
    preload += [str(simulator / "libcudnn.so.9")]
    done = subprocess.run(
        [train, "1"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {
            "LD_PRELOAD": ":".join(preload),
            "LD_LIBRARY_PATH": str(simulator),
            "VRAMSTOW_SIMULATE": "h200",
            "VRAMSTOW_POOL": "on",
            "VRAMSTOW_TRACE": "0",
        },
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stderr.splitlines() if "not its tensors" in line]
    assert len(lines) == 1 and "bin/vramstow cannot be started" in lines[0], done.stderr


def test_at_segment_level_nothing_is_built(rehearse: Rehearse, train: Path, tmp_path: Path) -> None:
    settings = {"VRAMSTOW_POOL": "on", "VRAMSTOW_LEVEL": "segments"}
    folder = tmp_path / "adapters"
    folder.mkdir()
    job = rehearse(train, "1", env=settings | {"VRAMSTOW_ADAPTER_DIR": str(folder)})
    assert job.status == 0, job.err[-4000:]
    assert not list(folder.iterdir())
    assert not tensor_events(job.traces[0])
