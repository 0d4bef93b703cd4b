"""Reads snapshots that Python wrote, and lets PyTorch's own scripts read those of vramstow."""

from __future__ import annotations

import gzip
import os
import pickle
import pickletools
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from built import ROOT, Ran, run_program

CORPUS = Path(os.environ.get("VRAMSTOW_CORPUS", ROOT.parent / "shared/corpus"))
VIEWERS = sorted(ROOT.glob(".venv/lib/python3.*/site-packages/torch/cuda/_memory_viz.py"))
# The opcodes that MemoryViz.js, the public viewer, understands.
VIEWER_OPCODES = {
    *("APPEND", "APPENDS", "BINGET", "BINFLOAT", "BININT", "BININT1", "BININT2", "BINPUT"),
    *("BINUNICODE", "DICT", "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "FRAME", "LIST", "LONG1"),
    *("LONG_BINGET", "LONG_BINPUT", "MARK", "MEMOIZE", "NEWFALSE", "NEWTRUE", "NONE", "PROTO"),
    *("SETITEM", "SETITEMS", "SHORT_BINUNICODE", "STOP", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
}
MIB = 1 << 20
Summary = Callable[[Path], dict]
Refused = Callable[[Path], str]
Tool = Callable[..., Ran]


def frames(function: str) -> list[dict]:
    return [{"name": function, "filename": "/home/user/train.py", "line": 7}]


def snapshot() -> dict:
    """Returns a small snapshot in the current layout: four slots, one in use; its history starts
    during the run."""
    stack = frames("forward")
    base = 0x7F12_0000_0000

    def block(offset: int, size: int, state: str) -> dict:
        return {
            "address": base + offset,
            "size": size,
            "requested_size": size - 100,
            "state": state,
            "frames": stack,
        }

    def event(action: str, offset: int, size: int, time_us: int) -> dict:
        return {
            "action": action,
            "addr": base + offset,
            "size": size,
            "stream": 0,
            "time_us": time_us,
            "compile_context": "N/A",
            "user_metadata": "",
            "frames": stack,
        }

    segment = {
        "device": 1,
        "address": base,
        "total_size": 2 * MIB,
        "allocated_size": 1024,
        "active_size": 1536,
        "requested_size": 924,
        "stream": 0,
        "segment_type": "small",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": stack,
        "blocks": [
            block(0, 1024, "active_allocated"),
            block(1024, 512, "active_pending_free"),
            block(1536, 2 * MIB - 1536, "inactive"),
        ],
    }
    events = [
        event("free_requested", 4096, 700, 10),
        event("free_completed", 4096, 700, 11),
        event("segment_alloc", 0, 2 * MIB, 12),
        event("alloc", 0, 924, 13),
        event("alloc", 1024, 412, 14),
        event("free_requested", 1024, 412, 15),
        {"action": "oom", "device_free": 5, "size": 1 << 40, "stream": 0, "time_us": 16},
    ]
    return {
        "segments": [segment],
        "device_traces": [[], events, [], []],
        "allocator_settings": {"expandable_segments": False, "roundup_power2_divisions": {"1": 0}},
        "external_annotations": [{"name": "step", "stage": "START", "device": 1, "time_us": 9}],
    }


def expect_small(facts: dict) -> None:
    assert facts["segments"] == 1
    assert facts["blocks"] == 3
    assert facts["reserved"] == 2 * MIB
    assert facts["allocated"] == 1024
    assert facts["slots"] == 4
    assert facts["actions"]["alloc"] == 2
    assert facts["actions"]["oom"] == 1
    assert facts["settings"]["roundup_power2_divisions.1"] == 0
    assert facts["stacks"] == 1
    assert facts["complete"] is True


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_is_read(protocol: int, tmp_path: Path, summary: Summary) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot(), protocol))
    expect_small(summary(path))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_without_a_memo_are_read(protocol: int, tmp_path: Path, summary: Summary) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickletools.optimize(pickle.dumps(snapshot(), protocol)))
    expect_small(summary(path))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_file_as_torch_save_writes_it(
    compression: int, tmp_path: Path, summary: Summary
) -> None:
    path = tmp_path / "snapshot.pt"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("snapshot/data.pkl", pickle.dumps(snapshot(), 2))
        archive.writestr("snapshot/byteorder", "little")
        archive.writestr("snapshot/version", "3\n")
    expect_small(summary(path))


def test_what_torch_save_really_writes(tmp_path: Path, summary: Summary) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    path = tmp_path / "snapshot.pt"
    torch.save(snapshot(), path)
    expect_small(summary(path))


def test_gzip(tmp_path: Path, summary: Summary) -> None:
    path = tmp_path / "snapshot.pickle.gz"
    path.write_bytes(gzip.compress(pickle.dumps(snapshot())))
    expect_small(summary(path))


class Harm:
    def __reduce__(self) -> tuple:
        return os.system, ("touch harm",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_would_run_a_program_is_refused(
    protocol: int, tmp_path: Path, refused: Refused
) -> None:
    path = tmp_path / "harm.pickle"
    path.write_bytes(pickle.dumps({**snapshot(), "harm": Harm()}, protocol))
    sentence = refused(path)
    assert f"{os.system.__module__}.system" in sentence
    assert f"{path}: at byte " in sentence
    assert not (tmp_path / "harm").exists()


def test_a_checkpoint_is_refused(tmp_path: Path, refused: Refused) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    path = tmp_path / "checkpoint.pt"
    torch.save({"weight": torch.zeros(3)}, path)
    assert "asks to import" in refused(path) or "persistent id" in refused(path)


def test_today_s_layout_with_host_memory(tmp_path: Path, summary: Summary) -> None:
    whole = snapshot()
    whole["host_segments"] = whole["segments"]
    whole["host_traces"] = [whole["device_traces"][1]]
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(whole))
    assert summary(path)["host_segments"] == 1


def rewritten(path: Path, tool: Tool, tmp_path: Path) -> Path:
    out = tmp_path / "again.pickle"
    result = tool("rewrite", path, out)
    assert result.returncode == 0, result.stderr
    return out


def inputs() -> list[Path]:
    return sorted(CORPUS.glob("*.pickle"))


def test_what_is_written_uses_the_viewer_s_opcodes_only(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot()))
    used = {
        opcode.name
        for opcode, _, _ in pickletools.genops(rewritten(path, tool, tmp_path).open("rb"))
    }
    assert used <= VIEWER_OPCODES


def test_what_is_written_is_what_python_read(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot()))
    again = pickle.loads(rewritten(path, tool, tmp_path).read_bytes())
    wanted = snapshot()
    assert again["segments"] == wanted["segments"]
    assert again["allocator_settings"] == wanted["allocator_settings"]
    assert again["external_annotations"] == wanted["external_annotations"]
    for new, old in zip(again["device_traces"], wanted["device_traces"], strict=True):
        assert [event["action"] for event in new] == [event["action"] for event in old]
        for one, other in zip(new, old, strict=True):
            ours = {"pool_id", "frames", "user_metadata"}
            assert {**one, **other} == {**other, **{key: one[key] for key in ours & one.keys()}}


def run_viewer(*arguments: object) -> str:
    result = run_program(sys.executable, VIEWERS[0], *map(str, arguments), timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.skipif(not VIEWERS, reason="PyTorch's _memory_viz.py is not installed")
@pytest.mark.skipif(not inputs(), reason="no corpus: set VRAMSTOW_CORPUS")
@pytest.mark.parametrize("path", inputs(), ids=lambda path: path.stem)
def test_pytorch_s_script_says_the_same_of_both(path: Path, tmp_path: Path, tool: Tool) -> None:
    out = rewritten(path, tool, tmp_path)
    assert run_viewer("stats", out) == run_viewer("stats", path)
    ours, theirs = (run_viewer("trace", file) for file in (out, path))
    if "2023" not in path.stem:  # that file has no requests of frees, so they are added
        assert ours == theirs


@pytest.mark.skipif(not VIEWERS, reason="PyTorch's _memory_viz.py is not installed")
def test_pytorch_s_script_plots_what_is_written(tmp_path: Path, tool: Tool) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot()))
    page = tmp_path / "plot.html"
    run_viewer("trace_plot", rewritten(path, tool, tmp_path), "-o", page)
    assert page.stat().st_size > 1000


@pytest.mark.skipif(not inputs(), reason="no corpus: set VRAMSTOW_CORPUS")
def test_cut_corpus_files_are_partial_or_one_sentence(tmp_path: Path, tool: Tool) -> None:
    for path in inputs():
        whole = path.read_bytes()
        for tenth in range(10):
            cut = tmp_path / "cut.pickle"
            cut.write_bytes(whole[: len(whole) * tenth // 10])
            result = tool("summary", cut)
            if result.returncode == 0:
                assert '"complete":false' in result.stdout
                assert "the pickle ends after" in result.stdout
            else:
                assert result.stderr.count("\n") == 1
