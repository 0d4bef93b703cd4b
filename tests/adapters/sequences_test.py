"""Fifteen jobs make the same requests with PyTorch's own allocator, observed, and with the pool."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import EXAMPLES, PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
Rehearse = Callable[..., Rehearsal]
NATIVE = {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "segments"}
# The file, its arguments, and how many cards it wants.
JOBS: list[tuple[Path, tuple[str, ...], int]] = [
    (EXAMPLES / "transformer.py", ("--steps", "1"), 1),
    (EXAMPLES / "mlp.py", ("--steps", "2"), 1),
    (EXAMPLES / "convnet.py", ("--steps", "2"), 1),
    (EXAMPLES / "convnet.py", ("--steps", "1", "--channels-last", "--bfloat16"), 1),
    (EXAMPLES / "lstm.py", ("--steps", "1"), 1),
    (EXAMPLES / "attention.py", ("--steps", "1"), 1),
    (EXAMPLES / "cuda_graph.py", ("--steps", "2"), 1),
    (PROGRAMS / "async_graph.py", (), 1),
    (PROGRAMS / "memory_pools.py", (), 1),
    (PROGRAMS / "two_devices.py", (), 2),
    (PROGRAMS / "two_streams.py", (), 1),
    (PROGRAMS / "data_workers.py", (), 1),
    (PROGRAMS / "train_like_cpu.py", ("AdamW",), 1),
    (PROGRAMS / "train_transformer.py", ("fused",), 1),
    (PROGRAMS / "train_transformer.py", ("foreach",), 1),
]


LEVELS = {
    "observed": {"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "tensors"},
    "pooled": {"VRAMSTOW_POOL": "on", "VRAMSTOW_LEVEL": "tensors", "VRAMSTOW_CHECK": "1"},
}
Requests = list[tuple[str, int]]


@pytest.fixture(scope="session")
def native_requests() -> dict[Path, dict[tuple[str, ...], Requests]]:
    """What each job asks of PyTorch's own allocator, once for all levels."""
    return defaultdict(dict)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: " ".join([job[0].stem, *job[1]]))
@pytest.mark.parametrize("level", LEVELS)
def test_a_job_makes_the_same_requests(
    rehearse: Rehearse,
    python: str,
    tmp_path: Path,
    adapter_folder: str,
    native_requests: dict[Path, dict[tuple[str, ...], Requests]],
    level: str,
    job: tuple[Path, tuple[str, ...], int],
) -> None:
    script, arguments, cards = job

    def requests(settings: dict[str, str], options: str = "") -> Requests:
        target = tmp_path / "requests.json"
        command = (python, OWN / "watched.py", target, script, *arguments)
        env = settings | {"VRAMSTOW_ADAPTER_DIR": adapter_folder}
        ran = rehearse(*command, env=env, card=f"h200,count={cards}{options}")
        assert ran.status == 0, ran.err[-4000:]
        assert "not its tensors" not in ran.err, ran.err[-2000:]
        ran.assert_trace_equals_call_log()
        for left in (*ran.traces, *ran.call_logs):
            left.unlink()
        return [(action, size) for action, size in json.loads(target.read_text())]

    known = native_requests[script]
    if arguments not in known:
        # What a rehearsal computes changes no request, either: here it computes nothing.
        known[arguments] = requests(NATIVE, ",values=off")
    native = known[arguments]
    seen = requests(LEVELS[level])
    assert len(native) >= 10
    # Frees of one moment come in any order, also in two runs with PyTorch's own allocator.
    assert [request for request in native if request[0] != "free_requested"] == [
        request for request in seen if request[0] != "free_requested"
    ]
    assert sorted(native) == sorted(seen)
