"""Ways to train have the same control flow and the same tensors with either allocator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import Rehearsal
from tensor_test import NATIVE, OWN, assert_served, tensors  # noqa: F401

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
pytestmark = pytest.mark.long

Rehearse = Callable[..., Rehearsal]
Entries = list[list[object]]


def requests(entries: Entries) -> Entries:
    """Returns the requests in order; frees at the same time may be in any order."""
    return [entry for entry in entries if entry[0] != "free_requested"]


def run_both(
    rehearse: Rehearse,
    tmp_path: Path,
    tensors: dict[str, str],  # noqa: F811
    command: list[str | Path],
    *arguments: str,
    card: str = "h200",
    ranks: tuple[str, ...] = ("",),
) -> None:
    """Runs the job with PyTorch's allocator and with the pool, and compares them."""
    said = {}
    made: dict[str, list[Entries]] = {}
    # Compilers cache their results, so the two runs use separate caches.
    for name, env in (("native", NATIVE), ("tensors", tensors)):
        target = tmp_path / f"{name}.json"
        caches = {
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / f"inductor-{name}"),
            "TRITON_CACHE_DIR": str(tmp_path / f"triton-{name}"),
        }
        for left in [*tmp_path.glob("*.stow"), *tmp_path.glob("call-log-*.csv")]:
            left.unlink()
        job = rehearse(
            *(*command, OWN / "watched.py", target, OWN / "training.py", *arguments),
            env=env | caches,
            card=card,
            timeout=580,
        )
        assert job.status == 0, (name, job.err[-4000:])
        if name == "tensors":
            assert_served(job)
        said[name] = sorted(job.out.splitlines())
        made[name] = [json.loads(Path(f"{target}{rank}").read_text()) for rank in ranks]
    assert said["native"] == said["tensors"]
    for native, served in zip(made["native"], made["tensors"], strict=True):
        assert len(native) > 20
        assert requests(native) == requests(served)
        assert sorted(map(str, native)) == sorted(map(str, served))


@pytest.mark.parametrize(
    "way",
    [
        "decoder",
        "lora",
        "amp",
        "checkpoint_reentrant",
        "checkpoint_saved",
        "accumulation",
        "graphs",
        "pools",
        "two_streams",
        "saved_tensors",
        "prefetch",
        "compile_default",
        "compile_graphs",
    ],
)
def test_on_one_card(
    rehearse: Rehearse,
    python: str,
    tmp_path: Path,
    tensors: dict[str, str],  # noqa: F811
    way: str,
) -> None:
    run_both(rehearse, tmp_path, tensors, [python], way)


@pytest.mark.parametrize("way", ["distributed", "sharded"])
def test_on_two_cards(
    rehearse: Rehearse,
    python: str,
    tmp_path: Path,
    tensors: dict[str, str],  # noqa: F811
    way: str,
) -> None:
    torchrun = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run_both(*(rehearse, tmp_path, tensors, torchrun, way), card="h200,count=2", ranks=("0", "1"))


def test_in_two_processes_that_share_tensors(
    rehearse: Rehearse,
    python: str,
    tmp_path: Path,
    tensors: dict[str, str],  # noqa: F811
) -> None:
    run_both(rehearse, tmp_path, tensors, [python], "sharing", ranks=("", "child"))
