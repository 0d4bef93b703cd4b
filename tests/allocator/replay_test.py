"""The pool does not fragment: checks the reserved peak of recorded and synthetic jobs."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT, run_program

sys.path.insert(0, str(ROOT / "bench"))

import pool_jobs
import pool_traces

REPLAY = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build")) / "tests/pool_replay"
# Jobs with thousands of blocks of 1.5 to 5 MiB that each grow a little: the hardest case for chunks
# of 2 MiB.
HARD = {"job-growing-caches": 1.06, "job-odd-sizes": 1.05}


def replay(*paths: Path, limit: float = 1.03, options: tuple[str, ...] = ()) -> str:
    command = [REPLAY, "--limit", str(limit), *options, *paths]
    result = run_program(*command)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_corpus_stays_within_three_percent(tmp_path: Path) -> None:
    corpus = pool_traces.corpus_directory()
    if corpus is None:
        pytest.skip("no corpus: neither VRAMSTOW_CORPUS nor ../shared/corpus is a folder")
    paths = [
        p
        for source in sorted(corpus.glob("*.pickle"))
        for p in pool_traces.convert(source, tmp_path)
    ]
    assert len(paths) >= 6
    print(replay(*paths))


@pytest.mark.parametrize("name", pool_jobs.JOBS)
@pytest.mark.parametrize("seed", [1, 2])
def test_synthetic_jobs_stay_within_their_limit(name: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.requests"
    path.write_text("\n".join(pool_jobs.requests(name, seed)) + "\n")
    print(replay(path, limit=HARD.get(name, 1.03)))


def test_a_repeating_job_settles_without_driver_calls(tmp_path: Path) -> None:
    path = tmp_path / "fixed.requests"
    path.write_text("\n".join(pool_jobs.requests("job-fixed-length", 1)) + "\n")
    late = replay(path).splitlines()[1].split()[-2]
    assert late == "0", "chunks still moved in the last third of the iterations"


@pytest.mark.parametrize("name", ["job-fixed-length", "job-varying-length", "job-growing-batch"])
def test_large_chunks_save_calls_and_stay_within_the_same_limit(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.requests"
    path.write_text("\n".join(pool_jobs.requests(name, 1)) + "\n")
    made = [
        int(replay(path, options=options).splitlines()[1].split()[8])
        for options in ((), ("--large-chunks", "64MiB"))
    ]
    assert made[1] < made[0] * 0.85


def test_the_limit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "large.requests"
    path.write_text("a 1 629145601 0\n")
    result = subprocess.run([REPLAY, "--limit", "1.0001", path], check=False, capture_output=True)
    assert result.returncode == 1


def test_a_pickle_that_names_a_global_is_refused() -> None:
    with pytest.raises(pickle.UnpicklingError, match="refused"):
        pool_traces.load(io.BytesIO(pickle.dumps(Path("/"))))


def test_blocks_that_were_live_before_the_recording_come_first() -> None:
    snapshot = {
        "segments": [
            {
                "device": 0,
                "address": 1000,
                "stream": 0,
                "blocks": [
                    {"size": 512, "requested_size": 500, "state": "active_allocated"},
                    {"size": 512, "requested_size": 0, "state": "inactive"},
                    {"size": 512, "requested_size": 511, "state": "active_pending_free"},
                ],
            }
        ]
    }
    trace = [
        {"action": "free_completed", "addr": 5000, "size": 700, "stream": 0},
        {"action": "alloc", "addr": 1000, "size": 500, "stream": 0},
        {"action": "free_requested", "addr": 1000, "size": 500, "stream": 0},
    ]
    assert pool_traces.requests_of(snapshot, 0, trace) == [
        "a 3 511 0",
        "a 1 700 0",
        "f 1",
        "a 2 500 0",
    ]
