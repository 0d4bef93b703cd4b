"""Common mistakes with memory: the job ends as it would without vramstow, and the report explains
it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from jobs_conftest import Rehearsal
from tensor_test import OWN, tensors  # noqa: F401

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
pytestmark = pytest.mark.long

Job = Callable[..., dict[str, Any]]
MIB = 1 << 20
SITES = {"VRAMSTOW_STACKS": "sites"}


@pytest.fixture
def failure_mode(
    rehearse: Callable[..., Rehearsal],
    python: str,
    tensors: dict[str, str],  # noqa: F811
) -> Job:
    """Runs one of the mistakes at tensor level; returns its analysis, with the report as "text"."""

    def run(name: str, said: str, status: int = 0, card: str = "h200") -> dict[str, Any]:
        job = rehearse(python, OWN / "failure_modes.py", name, env=tensors | SITES, card=card)
        assert job.status == status, job.err[-4000:]
        assert job.out == said
        assert "not its tensors" not in job.err and "report this" not in job.err, job.err[-2000:]
        job.assert_trace_equals_call_log()
        return job.analysis() | {"text": job.report()}

    return run


def test_emptying_the_cache_every_step_shows_as_churn(failure_mode: Job) -> None:
    steps = "".join(f"step {number}\n" for number in range(6))
    facts = failure_mode("empties_the_cache_every_step", steps)
    cache = facts["cache"]
    assert cache["flush_count"] == 6, cache
    # The bytes that PyTorch released from its cache are allocated again in the next step, except
    # after the last step.
    again = [flush["taken_again_bytes"] for flush in cache["flushes"]]
    assert all(taken >= MIB for taken in again[:-1]) and again[-1] == 0, cache


def test_a_job_that_halves_its_batch_finds_one_that_fits(failure_mode: Job) -> None:
    said = "too many 1024\nrows 512 512\n"
    facts = failure_mode("halves_the_batch_when_memory_ends", said, card="h200,memory=1GiB")
    (refused,) = facts["out_of_memory"]
    assert refused["requested_bytes"] == 1024 * MIB, refused
    assert facts["peak"]["allocated_bytes"] >= 512 * MIB


def test_what_is_deleted_too_late_is_at_the_peak_with_what_follows_it(failure_mode: Job) -> None:
    facts = failure_mode("deletes_too_late", "late 128 in time 64 64\n")
    assert facts["peak"]["allocated_bytes"] >= 128 * MIB
    assert "failure_modes.py" in str(facts["by_site"]) and "deletes_too_late" in facts["text"]


def test_losses_in_a_list_keep_what_the_site_of_the_model_made(failure_mode: Job) -> None:
    facts = failure_mode("keeps_losses_in_a_list", "freed 8\n")
    # The peak is at least eight times the bytes of one layer's activations (1,024 rows of 256
    # numbers). One source line allocates all of them.
    assert facts["peak"]["allocated_bytes"] > 8 * 1024 * 256 * 4
    assert "keeps_losses_in_a_list" in facts["text"]


def test_two_models_at_once_are_all_of_the_peak_at_one_site(failure_mode: Job) -> None:
    facts = failure_mode("makes_the_model_twice", "twice 2 3\n")
    made = [row for row in facts["by_site"] if "model_of" in row["site"]]
    assert sum(row["bytes_at_peak"] for row in made) >= 2 * (2 * 2048 * 2048 * 4), made


def test_a_forked_child_is_told_by_pytorch_and_leaves_the_parent_alone(failure_mode: Job) -> None:
    facts = failure_mode("forks_after_cuda_was_used", "child 7 1000.0\n")
    # The child's operations must not be in the trace. So all counts are those of the parent, which
    # allocates 1,000 numbers and their sum.
    assert facts["counts"]["allocations"] - facts["counts"]["frees"] == 1, facts["counts"]
    assert facts["counts"]["frees_of_unseen"] == 0
    assert facts["peak"]["allocated_bytes"] == 4096 + 512
    assert facts["leaks"]["device_bytes"] == 0
    (left,) = facts["leaks"]["groups"]
    assert left["kind"] == "host_pinned", left


def test_an_exit_with_live_graphs_is_the_scripts_own(failure_mode: Job) -> None:
    facts = failure_mode("exits_with_live_graphs", "leaving True\n", status=5)
    # Tensors and the graphs' pool were freed; only the math library's workspaces are left.
    left = facts["leaks"]["groups"]
    assert left and all(block["call"] == "cuMemAlloc" for block in left), left
    assert {block["library"] for block in left} == {"libcublas.so.13"}, left
    assert any("exits_with_live_graphs" in row["site"] for row in facts["by_site"])
    assert "Live at the end" in facts["text"]
