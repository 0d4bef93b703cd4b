"""Fifteen jobs make the same requests with PyTorch's own allocator, observed, and with the pool."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from built import run_program
from jobs_conftest import EXAMPLES, PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]
NATIVE = {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "segments"}


@dataclass(frozen=True)
class Job:
    """`cards`: number of GPUs that the job needs. `since`: the first PyTorch release that can run
    it."""

    script: Path
    arguments: tuple[str, ...] = ()
    cards: int = 1
    since: tuple[int, int] = (2, 4)


JOBS = (
    Job(EXAMPLES / "transformer.py", ("--steps", "1")),
    Job(EXAMPLES / "mlp.py", ("--steps", "2")),
    Job(EXAMPLES / "convnet.py", ("--steps", "2")),
    Job(EXAMPLES / "convnet.py", ("--steps", "1", "--channels-last", "--bfloat16")),
    Job(EXAMPLES / "lstm.py", ("--steps", "1")),
    # Before PyTorch 2.5, cuDNN's attention must be enabled explicitly.
    Job(EXAMPLES / "attention.py", ("--steps", "1"), since=(2, 5)),
    Job(EXAMPLES / "cuda_graph.py", ("--steps", "2")),
    Job(PROGRAMS / "async_graph.py"),
    Job(PROGRAMS / "memory_pools.py", since=(2, 5)),
    Job(PROGRAMS / "two_devices.py", cards=2),
    Job(PROGRAMS / "two_streams.py"),
    Job(PROGRAMS / "data_workers.py"),
    Job(PROGRAMS / "train_like_cpu.py", ("AdamW",)),
    Job(PROGRAMS / "train_transformer.py", ("fused",)),
    Job(PROGRAMS / "train_transformer.py", ("foreach",)),
)


LEVELS = {
    "observed": {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "tensors"},
    "pooled": {"VRAMSTOW_POOL": "on", "VRAMSTOW_LEVEL": "tensors", "VRAMSTOW_CHECK": "1"},
}
Requests = list[tuple[str, int]]


@pytest.fixture
def release(python: str) -> tuple[int, int]:
    """Returns the release of the PyTorch that runs the jobs."""
    ask = "from importlib.metadata import version; print(version('torch'))"
    told = run_program(python, "-c", ask, check=True).stdout
    major, minor, *_ = told.split(".")
    return int(major), int(minor)


@pytest.fixture(scope="session")
def native_requests() -> dict[Path, dict[tuple[str, ...], Requests]]:
    """Caches the requests of each job to PyTorch's own allocator for all levels."""
    return defaultdict(dict)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: " ".join([job.script.stem, *job.arguments]))
@pytest.mark.parametrize("level", LEVELS)
def test_a_job_makes_the_same_requests(
    rehearse: Rehearse,
    python: str,
    tmp_path: Path,
    adapter_folder: str,
    native_requests: dict[Path, dict[tuple[str, ...], Requests]],
    level: str,
    release: tuple[int, int],
    job: Job,
) -> None:
    if release < job.since:
        pytest.skip("this release has not what the job uses")
    script, arguments = job.script, job.arguments

    def requests(settings: dict[str, str], options: str = "") -> Requests:
        target = tmp_path / "requests.json"
        command = (python, OWN / "watched.py", target, script, *arguments)
        env = settings | {"VRAMSTOW_ADAPTER_DIR": adapter_folder}
        ran = rehearse(*command, env=env, card=f"h200,count={job.cards}{options}")
        assert ran.status == 0, ran.err[-4000:]
        assert "not its tensors" not in ran.err, ran.err[-2000:]
        ran.assert_trace_equals_call_log()
        for left in (*ran.traces, *ran.call_logs):
            left.unlink()
        return [(action, size) for action, size in json.loads(target.read_text())]

    known = native_requests[script]
    if arguments not in known:
        # The requests do not change, either, if the simulated run computes values. Here no values
        # are computed.
        known[arguments] = requests(NATIVE, ",values=off")
    native = known[arguments]
    seen = requests(LEVELS[level])
    assert len(native) >= 10
    # Two frees with the same time have no fixed order, even in two runs with PyTorch's own
    # allocator.
    assert [request for request in native if request[0] != "free_requested"] == [
        request for request in seen if request[0] != "free_requested"
    ]
    assert sorted(native) == sorted(seen)
