"""vramstow fidelity compares simulated runs with snapshots of simulated runs and of real GPUs."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, run_vramstow
from conftest import PROGRAMS

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

# A job that sums whole tensors. Each sum needs a small staging block whose size follows from the
# number of multiprocessors.
SUMS = """
import sys, torch
torch.cuda.memory._record_memory_history()
x = torch.zeros(1 << 22, device="cuda")
for _ in range(10):
    y = torch.cat([x, x])
    for _ in range(int(sys.argv[1])):
        x.sum()
if len(sys.argv) > 2:
    torch.cuda.memory._dump_snapshot(sys.argv[2])
"""


LAYER = """
class Layer(torch.nn.Module):
    def forward(self, x):
        return x + 1

layer = Layer()
for _"""

# A sum over rows, which needs a staging block of 128 MiB if there are enough multiprocessors, and
# none on a small GPU.
COLUMN_SUMS = """
import sys, torch
torch.cuda.memory._record_memory_history()
x = torch.zeros(4096, 65536, dtype=torch.bfloat16, device="cuda")
for _ in range(5):
    y = torch.cat([x[:100], x[:100]])
    x.sum(0)
if len(sys.argv) > 1:
    torch.cuda.memory._dump_snapshot(sys.argv[1])
"""


def snapshot(file: Path, card: str, *command: str | Path) -> None:
    """Returns a snapshot like that of a real GPU, which a simulated run made."""
    subprocess.run(
        [VRAMSTOW, "run", "--no-trace", f"--simulate={card},values=off", "--", *command, file],
        check=True,
        capture_output=True,
        timeout=200,
    )


def compare(
    file: Path, *arguments: str | Path, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return run_vramstow("fidelity", file, *flags, "--", *arguments, timeout=300)


def facts(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert result.returncode == 0, result.stderr[-4000:]
    return json.loads(result.stdout)


def test_the_same_job_on_the_same_card_is_aligned_whole(tmp_path: Path, python: str) -> None:
    job = (PROGRAMS / "small_decoder.py", "full")
    snapshot(tmp_path / "real.pickle", "a100", python, *job)
    told = facts(
        compare(
            tmp_path / "real.pickle",
            python,
            *job,
            flags=("--simulate=a100,values=off", "--json", "--at-least=100"),
        )
    )
    assert told["aligned_share"] == 1.0
    assert told["card_events"] > 1000
    assert (told["only_on_card"], told["only_rehearsed"], told["parts"]) == (0, 0, [])
    # The simulated run makes the recorded pass twice. The window that is compared is the second
    # one.
    assert told["window_begin"] > 1000
    assert told["card_peak_bytes"] == told["rehearsed_peak_bytes"]


# A job with blocks that PyTorch does not split, and with workspaces that cuBLAS allocates from the
# driver.
UNCUT = """
import torch
x = torch.ones(300, 300, device="cuda")
for step in range(4):
    kept = torch.empty((19 << 20) + (300 << 10), dtype=torch.uint8, device="cuda")
    (x @ x).sum()
    del kept
"""


def test_an_exported_snapshot_is_aligned_whole(tmp_path: Path, python: str) -> None:
    """The snapshot has what the trace has: requested sizes, and the libraries' allocations."""
    (tmp_path / "job.py").write_text(UNCUT)
    job = (python, tmp_path / "job.py")
    card = "--simulate=a100,values=off"
    ran = subprocess.run(
        [VRAMSTOW, "run", card, f"--trace-dir={tmp_path}", "--", *job],
        capture_output=True,
        check=False,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stderr
    [trace] = tmp_path.glob("*.stow")
    exported = tmp_path / "exported.pickle"
    export = [VRAMSTOW, "export", trace, "--to", "snapshot", "-o", exported]
    subprocess.run(export, check=True, capture_output=True, timeout=60)
    told = facts(compare(exported, *job, flags=(card, "--json", "--no-tries")))
    assert told["card_events"] > 10
    assert (told["only_on_card"], told["only_rehearsed"], told["parts"]) == (0, 0, [])
    assert told["causes"] == []
    reserved = told["reserved"]
    assert reserved["card_peak_bytes"] == reserved["rehearsed_peak_bytes"]


def test_a_card_with_other_multiprocessors_is_found_and_tried(tmp_path: Path, python: str) -> None:
    job = tmp_path / "sums.py"
    job.write_text(SUMS)
    real = tmp_path / "real.pickle"
    snapshot(real, "h100,sms=40", python, job, "3")
    told = facts(compare(real, python, job, "3", flags=("--simulate=h100,values=off", "--json")))
    assert told["aligned_share"] < 0.8
    assert [cause["setting"] for cause in told["causes"]] == ["multiprocessors"]
    (tried,) = told["tried"]
    assert tried["simulate"] == "h100,values=off,sms=40"
    assert tried["aligned_share"] == 1.0
    text = compare(real, python, job, "3", flags=("--simulate=h100,values=off",)).stdout
    assert "sms=40: 100.00% aligned" in text
    assert "sums.py:8 <module>" in text
    # With another number of sums the two runs agree less than --at-least requires, so the exit
    # status is 1.
    less = compare(
        real, python, job, "2", flags=("--simulate=h100,values=off", "--no-tries", "--at-least=90")
    )
    assert less.returncode == 1
    assert "tried" not in less.stdout


def test_large_staging_of_reductions_tells_of_multiprocessors(tmp_path: Path, python: str) -> None:
    job = tmp_path / "sums.py"
    job.write_text(COLUMN_SUMS)
    real = tmp_path / "real.pickle"
    snapshot(real, "t4,sms=108", python, job)
    # The snapshot names no GPU, so the smallest one that fits is used.
    told = facts(compare(real, python, job, flags=("--json",)))
    assert told["simulate"] == "t4"
    assert told["aligned_share"] < 1
    assert [cause["setting"] for cause in told["causes"]] == ["multiprocessors"]
    assert told["causes"][0]["spec"] == "sms=108"
    (tried,) = told["tried"]
    assert (tried["simulate"], tried["aligned_share"]) == ("t4,sms=108", 1.0)
    assert tried["reserved"]["card_peak_bytes"] == tried["reserved"]["rehearsed_peak_bytes"]
    # The GPU's recording has one more segment than the simulated run: the one with the staging
    # block.
    assert told["reserved"]["card_segments"] > told["reserved"]["rehearsed_segments"]
    # With a sum of a few rows, no number of multiprocessors explains the difference.
    more = tmp_path / "more.py"
    more.write_text(COLUMN_SUMS.replace("x.sum(0)", "x[:64].sum(0)"))
    vain = facts(compare(real, python, more, flags=("--simulate=a100", "--json")))
    assert "multiprocessors" not in [cause["setting"] for cause in vain["causes"]]
    assert vain["causes"][-1]["setting"] == "unknown"
    assert len(vain["tried"]) == 3


def test_another_release_is_named_first(tmp_path: Path, python: str) -> None:
    job = tmp_path / "layer.py"
    job.write_text(SUMS.replace("x.sum()", "layer(x)").replace("for _", LAYER, 1))
    real = tmp_path / "real.pickle"
    snapshot(real, "h100", python, job, "3")
    same = facts(compare(real, python, job, "3", flags=("--simulate=h100", "--json")))
    assert same["other_release"] is None
    assert same["causes"] == []
    # The snapshot is changed as if an older release had written it: its module.py has other line
    # numbers.
    with real.open("rb") as file:
        recorded = pickle.load(file)  # this test wrote the file
    frames = {id(f): f for event in recorded["device_traces"][0] for f in event["frames"]}
    for frame in frames.values():
        if frame["filename"].endswith("torch/nn/modules/module.py"):
            frame["line"] -= 40
    real.write_bytes(pickle.dumps(recorded))
    told = facts(compare(real, python, job, "2", flags=("--simulate=h100", "--no-tries", "--json")))
    moved = told["other_release"]
    assert moved["file"] == "torch/nn/modules/module.py"
    assert moved["rehearsed_line"] - moved["card_line"] == 40
    assert told["causes"][0]["setting"] == "release"
    assert "another release" in told["causes"][0]["sentence"]


def test_what_cannot_be_compared_gets_one_sentence(tmp_path: Path, python: str) -> None:
    job = tmp_path / "sums.py"
    job.write_text(SUMS)
    real = tmp_path / "real.pickle"
    snapshot(real, "h100", python, job, "1")
    text = tmp_path / "text"
    text.write_text("no snapshot")
    for file, command, words in (
        (text, ["true"], "is data of an unknown file format"),
        (tmp_path / "nowhere", ["true"], "nowhere"),
        (real, ["true"], "used no device memory"),
        (real, [python, "-c", "raise SystemExit(4)"], "failed with exit status 4"),
        (real, [python, "-c", "raise ValueError('no data')"], "ValueError: no data"),
    ):
        result = compare(file, *command, flags=("--simulate=h100",))
        assert result.returncode == 2, result.stdout
        assert result.stderr.count("\n") == 1 and words in result.stderr, result.stderr
    unknown = compare(real, "true", flags=("--simulate=nocard",))
    assert unknown.returncode == 2 and "nocard" in unknown.stderr


def test_the_card_follows_from_the_snapshot(tmp_path: Path, python: str) -> None:
    real = tmp_path / "real.pickle"
    snapshot(
        real,
        "h100",
        python,
        "-c",
        """
import sys, torch
torch.cuda.memory._record_memory_history()
held = torch.empty(30 << 30, dtype=torch.uint8, device="cuda")
torch.cuda.memory._dump_snapshot(sys.argv[1])
""",
    )
    program = "import torch; print(torch.cuda.get_device_properties(0).total_memory >> 30)"
    flags = ["--no-trace", f"--simulate=match={real},memory=100GiB"]
    done = run_vramstow("run", *flags, "--", python, "-c", program, timeout=100, check=True)
    assert done.stdout == "100\n"
    assert "the card is rtx5090: the smallest with at least 30.4 GiB" in done.stderr
