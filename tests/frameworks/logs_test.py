"""Reads the pool's numbers back from frameworks' logs, with TensorBoard and W&B themselves."""

from __future__ import annotations

import csv
import json
import os
import struct
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from built import ROOT, run_vramstow

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

JOBS = Path(__file__).parent / "logging"
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

pytestmark = pytest.mark.long


def run(script: str, folder: Path, *packages: str, recorded: bool = True) -> dict[str, Any]:
    """Returns the last line that the job prints."""
    for name in packages:
        if find_spec(name) is None:
            pytest.skip(f"needs {name}: setup/requirements-frameworks.txt")
    flags = ["--pool=on", f"--trace-dir={folder}"] if recorded else ["--no-trace"]
    done = run_vramstow(
        *("run", "--simulate=h200", *flags, "--", sys.executable, JOBS / script, folder / "logs"),
        cwd=folder,
        env=os.environ | OFFLINE | {"PYTHONPATH": str(ROOT / "python")},
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


class Logged:
    """The values that TensorBoard reads in a folder and its subfolders."""

    def __init__(self, folder: Path) -> None:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        self.curves: dict[str, dict[int, float]] = {}
        self.texts: dict[str, str] = {}
        for place in {path.parent for path in folder.rglob("events.out.tfevents.*")}:
            read = EventAccumulator(str(place)).Reload()
            for tag in read.Tags()["scalars"]:
                self.curves[tag] = {event.step: event.value for event in read.Scalars(tag)}
            for tag in read.Tags()["tensors"]:
                [event] = read.Tensors(tag)
                self.texts[tag] = event.tensor_proto.string_val[0].decode()

    def pool(self) -> dict[str, dict[int, float]]:
        return {
            tag.rpartition("vramstow/")[2]: curve
            for tag, curve in self.curves.items()
            if "vramstow/" in tag
        }


def is_near(logged: float, told: float) -> bool:
    """Compares with a tolerance, because TensorBoard stores a number in 32 bits."""
    return logged == pytest.approx(told, rel=1e-6)


def test_a_summary_writer_gets_the_numbers_and_the_report(tmp_path: Path) -> None:
    seen = run("plain_logs.py", tmp_path, "tensorboard")["seen"]
    logged = Logged(tmp_path / "logs")
    assert len(logged.pool()) == len(seen[0]) == 11
    for tag, curve in logged.pool().items():
        assert sorted(curve) == [0, 1, 2, 3]
        for step, value in curve.items():
            assert is_near(value, seen[step][f"vramstow/{tag}"]), (tag, step)
    peaks = logged.pool()["peak_allocated_bytes"]
    assert peaks[0] < peaks[1] < peaks[3]
    [text] = [text for tag, text in logged.texts.items() if tag.startswith("vramstow/report")]
    assert "peak" in text.lower() and text.startswith("~~~~\n")


def test_a_trainer_reports_them_wherever_it_reports(tmp_path: Path) -> None:
    told = run("trainer_logs.py", tmp_path, "tensorboard", "transformers", "accelerate")
    history = {row["step"]: row for row in told["history"] if "loss" in row}
    assert sorted(history) == [2, 4, 6]
    evaluated = told["history"][-1]
    assert "eval_loss" in evaluated and "vramstow/allocated_bytes" in evaluated
    # What the Trainer returns has no numbers of vramstow, because programs add its metrics up.
    assert "train_loss" in told["returned"]["train"] and "eval_loss" in told["returned"]["evaluate"]
    assert not [name for names in told["returned"].values() for name in names if "vramstow" in name]
    curves = Logged(tmp_path)
    logged = curves.pool()
    assert len(logged) == 11 and "train/vramstow/allocated_bytes" in curves.curves
    for tag, curve in logged.items():
        assert set(curve) >= {2, 4, 6}
        for step in (2, 4):
            assert is_near(curve[step], history[step][f"vramstow/{tag}"]), (tag, step)
    assert logged["peak_allocated_bytes"][6] <= told["peak"]["vramstow/peak_allocated_bytes"] * 1.01
    assert logged["peak_allocated_bytes"][2] > 1 << 20


def test_lightning_hands_them_to_all_of_its_loggers(tmp_path: Path) -> None:
    told = run("lightning_logs.py", tmp_path, "tensorboard", "lightning")
    # Of the steps 0 to 7 every fourth is logged, or of four steps every second. The validation
    # after the last step is logged at that step.
    for name, steps in (("plain", [3, 7]), ("manual", [3, 7]), ("accumulated", [1, 3])):
        logged = Logged(tmp_path / "logs" / name).pool()
        assert len(logged) == 11
        assert sorted(logged["allocated_bytes"]) == steps, name
        [table] = (tmp_path / "logs" / name).rglob("metrics.csv")
        rows = list(csv.DictReader(table.open()))
        of_memory = [row for row in rows if row["vramstow/allocated_bytes"]]
        assert [int(row["step"]) for row in of_memory] == [*steps, steps[-1]], name
        assert all(float(row["vramstow/reserved_bytes"]) > 0 for row in of_memory)
        # Lightning logs its own metrics at the same steps.
        assert [int(row["step"]) for row in rows if row["train_loss"]] == steps, name
    last = Logged(tmp_path / "logs" / "plain").pool()["peak_allocated_bytes"][7]
    assert is_near(last, told["peak"]["vramstow/peak_allocated_bytes"])


def rows_of_wandb(folder: Path) -> list[dict[str, Any]]:
    """Returns the history of the run in this folder: records in the frames of LevelDB's log, parsed
    by W&B's own messages."""
    from wandb.proto.wandb_internal_pb2 import Record

    [file] = folder.rglob("run-*.wandb")
    data = file.read_bytes()
    block, head, last_parts = 32768, struct.Struct("<IHB"), (1, 4)
    place, whole, rows = 7, b"", []  # after the file's header
    while place + head.size <= len(data):
        if block - place % block < head.size:
            place += block - place % block
            continue
        _, size, part = head.unpack_from(data, place)
        place += head.size
        whole += data[place : place + size]
        place += size
        if part not in last_parts:
            continue
        record, whole = Record.FromString(whole), b""
        if record.WhichOneof("record_type") == "history":
            rows.append(
                {
                    ".".join(item.nested_key) or item.key: json.loads(item.value_json)
                    for item in record.history.item
                }
            )
    return rows


@pytest.fixture(scope="module")
def wandb_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Returns the folder of the runs, and the numbers that vramstow had in them."""
    folder = tmp_path_factory.mktemp("wandb")
    return folder / "logs", run("wandb_logs.py", folder, "wandb")["seen"]


@pytest.mark.parametrize(
    ("name", "steps"), [("counted", [0, 1, 2, 3, 4]), ("stepped", [0, 10, 20, 30, 40])]
)
def test_a_run_of_wandb_gets_them_offline_with_the_report_as_a_page(
    wandb_runs: tuple[Path, dict[str, Any]], name: str, steps: list[int]
) -> None:
    logs, seen = wandb_runs
    rows = rows_of_wandb(logs / name)
    assert [row["_step"] for row in rows] == steps
    for row, told in zip(rows, seen[name], strict=False):
        # The figures are in the row of the loss, and equal those that the pool reported.
        assert "loss" in row and len(told) == 11
        assert {name: row[name] for name in told} == told
    assert rows[4]["vramstow/report._type"] == "html-file"
    [folder] = (logs / name).rglob("files")
    page = (folder / rows[4]["vramstow/report.path"]).read_text()
    assert "<script" in page and "http-equiv" not in page.partition("</head>")[2]
    assert "wandb" not in page.partition("<body")[0]


def test_without_a_recording_a_run_of_wandb_has_nothing_of_ours(tmp_path: Path) -> None:
    assert run("wandb_logs.py", tmp_path, "wandb", recorded=False)["peak"] == {}
    for name in ("counted", "stepped"):
        rows = rows_of_wandb(tmp_path / "logs" / name)
        assert len(rows) == 4
        assert not [name for row in rows for name in row if "vramstow" in name]


@pytest.mark.parametrize(
    ("script", "packages"),
    [("trainer_logs.py", ("transformers", "accelerate")), ("lightning_logs.py", ("lightning",))],
)
def test_without_a_recording_nothing_is_added(
    tmp_path: Path, script: str, packages: tuple[str, ...]
) -> None:
    told = run(script, tmp_path, "tensorboard", *packages, recorded=False)
    assert told["peak"] == {}
    logged = Logged(tmp_path)
    assert logged.curves and logged.pool() == {}
