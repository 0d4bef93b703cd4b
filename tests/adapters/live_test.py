"""By default the live values are those of PyTorch's own allocator, without a pool."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from built import VRAMSTOW, free_port
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
PACKAGE = Path(__file__).resolve().parents[2] / "python"
Rehearse = Callable[..., Rehearsal]


@pytest.fixture(scope="session")
def by_default(observed: dict[str, str]) -> dict[str, str]:
    """Returns the settings of `vramstow run -- python`, and the path of the Python package."""
    return observed | {"PYTHONPATH": str(PACKAGE)}


@pytest.mark.parametrize("settings", ["", "expandable_segments:True"])
@pytest.mark.parametrize("how", ["fork", "after"])
def test_figures_are_those_of_torch_cuda_on_two_devices_at_every_step(
    rehearse: Rehearse,
    python: str,
    by_default: dict[str, str],
    settings: str,
    how: str,
) -> None:
    conf = {"PYTORCH_CUDA_ALLOC_CONF": settings}
    job = rehearse(
        *(python, OWN / "live_figures.py", how),
        card="h200,memory=1GiB,count=2",
        env=by_default | conf,
    )
    assert job.status == 0, job.err[-4000:]
    assert "not its tensors" not in job.err, job.err[-2000:]
    assert job.out.splitlines()[-1].split()[1] == "comparisons"
    assert int(job.out.split()[-2]) > 30


ASKED = f"""
import json, os, subprocess, sys, urllib.request
import torch
kept = [torch.empty(n << 20, dtype=torch.uint8, device="cuda:%d" % d) for n, d in ((5, 0), (40, 1))]
kept.append(torch.empty(100 << 20, dtype=torch.uint8, device="cuda:1"))
del kept[-1]
try:
    torch.empty(4 << 30, dtype=torch.uint8, device="cuda:1")
except torch.cuda.OutOfMemoryError:
    pass
def ask(*command):
    asked = [{str(VRAMSTOW)!r}, *command]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout
me = str(os.getpid())
told = {{
    "truth": [torch.cuda.memory_stats(device) for device in range(2)],
    "json": json.loads(ask("ctl", "--json", me, "stats")),
    "text": ask("ctl", me, "stats"),
    "metrics": urllib.request.urlopen(sys.argv[1]).read().decode(),
    "top": json.loads(ask("top", me, "--json"))["processes"] if "trace" in sys.argv else None,
}}
print(json.dumps(told))
"""


@pytest.mark.parametrize("trace", ["trace", "no-trace"])
def test_ctl_metrics_and_top_tell_the_same(
    rehearse: Rehearse, python: str, by_default: dict[str, str], tmp_path: Path, trace: str
) -> None:
    port = free_port()
    env = by_default | {
        "VRAMSTOW_CONTROL_DIR": str(tmp_path / "control"),
        "VRAMSTOW_METRICS": str(port),
        "VRAMSTOW_TRACE": str(int(trace == "trace")),
    }
    if trace == "no-trace":
        del env["VRAMSTOW_LEVEL"]
    address = f"http://127.0.0.1:{port}/metrics"
    job = rehearse(python, "-c", ASKED, address, trace, card="h200,memory=1GiB,count=2", env=env)
    assert job.status == 0, job.err[-4000:]
    told = json.loads(job.out)
    samples = dict(line.rsplit(" ", 1) for line in told["metrics"].splitlines() if line[0] != "#")
    assert [one["of"] for one in told["json"]["devices"]] == ["pytorch", "pytorch"]
    for device, (truth, stats) in enumerate(
        zip(told["truth"], told["json"]["devices"], strict=True)
    ):
        assert stats["allocated_bytes"] == truth["allocated_bytes.all.current"] > 0
        assert stats["reserved_bytes"] == truth["reserved_bytes.all.current"]
        assert stats["peak_allocated_bytes"] == truth["allocated_bytes.all.peak"]
        assert stats["out_of_memory"] == truth["num_ooms"] == device
        # Without a trace, requests that the driver refuses are not observed.
        assert stats.get("retries") == (truth["num_alloc_retries"] if trace == "trace" else None)
        # Numbers that only vramstow's pool has are absent, not zero.
        assert not {"misses", "limit_bytes", "offloaded_bytes"} & stats.keys()
        [pid] = {name.split('pid="')[1].split('"')[0] for name in samples}
        labels = f'{{device="{device}",pid="{pid}",rank=""}}'
        for name in ("allocated_bytes", "reserved_bytes", "peak_reserved_bytes", "live_blocks"):
            assert int(samples[f"vramstow_{name}{labels}"]) == stats[name], name
        for name in ("out_of_memory", "allocations", *(["retries"] if trace == "trace" else [])):
            assert int(samples[f"vramstow_{name}_total{labels}"]) == stats[name], name
        assert int(samples[f"vramstow_device_bytes{labels}"]) == 1 << 30
    for name in ("misses", "limit_bytes", "head_room_bytes", "fence_wait"):
        assert f"vramstow_{name}" not in told["metrics"], name
    assert "device 1, by PyTorch's own allocator\n  allocated  40.0 MiB in 1 blocks" in told["text"]
    assert "hit" not in told["text"]
    if trace == "trace":
        [top] = told["top"]
        both = told["json"]["devices"]
        for name in ("allocated_bytes", "reserved_bytes", "out_of_memory"):
            assert top[name] == sum(one[name] for one in both), name
        assert top["pool_pending_bytes"] is None


LIMITED = """
import pytest, torch

def widen(kept):
    return [kept, torch.empty(24 << 20, dtype=torch.uint8, device="cuda")]

@pytest.mark.gpu_memory(peak="30 MiB")
def test_fits():
    widen(None)

@pytest.mark.gpu_memory(peak="30 MiB")
def test_needs_too_much():
    widen(widen(None))
"""


def test_pytests_plug_in_measures_without_the_pool_and_names_the_lines(
    rehearse: Rehearse, python: str, by_default: dict[str, str], tmp_path: Path
) -> None:
    tests = tmp_path / "limited_test.py"
    tests.write_text(LIMITED)
    asked = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "vramstow.pytest_plugin", tests)
    job = rehearse(python, *asked, env=by_default | {"VRAMSTOW_PROGRAM": str(VRAMSTOW)})
    assert job.status == 1, job.err[-4000:]
    assert "1 failed, 1 passed" in job.out, job.out
    needs = "needs 48.0 MiB of device memory at its peak; the limit is 30.0 MiB"
    assert f"{needs}; held most by 48.0 MiB limited_test.py:5 widen" in job.out, job.out
    assert "gpu memory: 2 tests measured" in job.out
