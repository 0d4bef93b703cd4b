"""Tests vramstow replay: requests through models of other allocators, and the bounds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, run_vramstow
from corpus import corpus_file
from installation import CUDA_BEGINS

MIB = 2**20
MODELS = ["native", "expandable", "async", "rmm-pool", "rmm-arena", "bfc", "vramstow"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_vramstow("replay", *arguments, timeout=170)


def replay(*arguments: str | Path) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def log_of(tmp_path: Path, *requests: tuple[str, int, int]) -> Path:
    """Writes an RMM log of (action, pointer, size)."""
    lines = ["Thread,Time,Action,Pointer,Size,Stream"]
    for number, (action, pointer, size) in enumerate(requests):
        lines.append(f"1,10:00:00:{number:06d},{action},0x{pointer:x},{size},0x0")
    path = tmp_path / "requests.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def by_name(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {model["name"]: model for model in result["models"]}


@pytest.mark.parametrize(
    ("problem", "load"),
    [("A", 1_048_576), ("B", 1_048_576), ("C", 1_039_360), ("D", 986_112), ("E", 1_048_576)],
)
def test_the_packing_of_minimallocs_problems_reaches_their_capacity(
    problem: str, load: int
) -> None:
    file = corpus_file(f"minimalloc/{problem}.1048576.csv")
    result = replay(file, "--models", "bfc", "--memory", "1MiB")
    assert result["bounds"]["maximum_load_bytes"] == load
    assert load <= result["bounds"]["static_packing_bytes"] <= 1_048_576


def test_a_cache_that_cannot_join_is_seen(tmp_path: Path) -> None:
    # Two blocks of 30 MiB are freed, then one of 60 MiB is requested.
    log = log_of(
        tmp_path,
        ("allocate", 0x1000000, 30 * MIB),
        ("allocate", 0x9000000, 30 * MIB),
        ("free", 0x1000000, 30 * MIB),
        ("free", 0x9000000, 30 * MIB),
        ("allocate", 0x1000000, 60 * MIB),
    )
    result = replay(log)
    models = by_name(result)
    assert list(models) == MODELS
    assert models["native"]["peak_reserved_bytes"] == 120 * MIB
    assert models["native"]["device_calls"] == 3
    assert models["expandable"]["peak_reserved_bytes"] == 60 * MIB
    assert models["vramstow"]["peak_reserved_bytes"] == 60 * MIB
    assert result["bounds"]["maximum_load_bytes"] == 60 * MIB
    assert result["bounds"]["static_packing_bytes"] == 60 * MIB


def test_memory_that_does_not_reach_is_out_of_memory(tmp_path: Path) -> None:
    log = log_of(tmp_path, ("allocate", 0x1000000, 30 * MIB), ("allocate", 0x9000000, 30 * MIB))
    result = replay(log, "--memory", "40MiB")
    for model in result["models"]:
        assert model["out_of_memory"] == 1, model
        assert model["peak_reserved_bytes"] <= 40 * MIB
        assert model["first_out_of_memory_event"] == 2
    enough = replay(log, "--memory", "128MiB")
    assert [model["out_of_memory"] for model in enough["models"]] == [0] * len(MODELS)


def test_native_gives_its_cache_back_before_it_fails(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        ("allocate", 0x1000000, 30 * MIB),
        ("free", 0x1000000, 30 * MIB),
        ("allocate", 0x1000000, 60 * MIB),
    )
    steps = tmp_path / "steps.csv"
    result = replay(log, "--models", "native", "--memory", "64MiB", "--steps", steps)
    assert result["models"][0]["out_of_memory"] == 0
    calls = [line.split(",")[3] for line in steps.read_text().splitlines()[1:]]
    assert calls == ["segment_alloc", "segment_free", "segment_alloc"]


def test_settings_change_what_is_reserved(tmp_path: Path) -> None:
    log = log_of(tmp_path, ("allocate", 0x1000000, 33 * MIB), ("allocate", 0x9000000, 3 * MIB))
    names = [
        "native",
        "native:roundup_power2_divisions:[1:1,32:2,>:2]",
        "native:large_segment_size_mb:64",
        "native:max_split_size_mb:15,large_segment_size_mb:12",
        "rmm-pool:initial_mib:100",
    ]
    models = by_name(replay(log, "--models", ",".join(names)))
    assert list(models) == names
    reserved = [models[name]["peak_reserved_bytes"] // MIB for name in names]
    assert reserved == [34 + 20, 48 + 20, 34 + 64, 34 + 12, 100]


def test_no_model_needs_less_than_the_load_and_search_finds_no_worse() -> None:
    result = replay(corpus_file("lm-small-forward-fp32.pickle"), "--search")
    load = result["bounds"]["maximum_load_bytes"]
    assert 0 < load <= result["bounds"]["static_packing_bytes"]
    for model in result["models"]:
        assert model["peak_reserved_bytes"] >= load, model
    best = result["search"]["models"][0]
    assert best["peak_reserved_bytes"] <= by_name(result)["native"]["peak_reserved_bytes"]


def test_an_option_that_older_releases_lack_is_told(tmp_path: Path) -> None:
    # A block of 3 MiB needs a segment of 20 MiB, unless segments are small.
    small = ("allocate", 0xF000000, 3 * MIB)
    best = (
        "Try: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,large_segment_size_mb:12\n"
        "large_segment_size_mb needs PyTorch 2.11 or newer"
    )
    assert f"{best}.\n" in run(log_of(tmp_path, small), "--search").stdout
    log = log_of(
        tmp_path,
        small,
        ("allocate", 0x1000000, 30 * MIB),
        ("allocate", 0x9000000, 30 * MIB),
        ("free", 0x1000000, 30 * MIB),
        ("free", 0x9000000, 30 * MIB),
        ("allocate", 0x1000000, 60 * MIB),
    )
    assert (
        "needs PyTorch 2.11 or newer; with an older one, try "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.\n"
    ) in run(log, "--search").stdout


def test_text_has_the_same_numbers(tmp_path: Path) -> None:
    log = log_of(tmp_path, ("allocate", 0x1000000, 30 * MIB))
    text = run(log, "--search").stdout
    assert "native" in text and "30.0 MiB" in text and "maximum load" in text
    assert "Best settings of PyTorch's allocator" in text
    assert "as they reached the driver" in text or "as the framework requested them" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--models", "natve"], "there is no model"),
        (["--models", "native:max_split_size_mb:no"], "no value of max_split_size_mb"),
        (["--models", "native:max_split_size_mb:4"], "not less than"),
        (["--models", "native:large_segment_size_mb:10"], "greater than 10"),
        (["--models", "native:large_segment_size_mb:64,max_split_size_mb:32"], "not less than"),
        (["--models", "native:max_non_split_rounding_mb:10"], "not less than"),
        (["--models", "native:garbage_collection_threshold:1"], "less than 1"),
        (["--models", "native:roundup_power2_divisions:0"], "power of two"),
        (["--models", "native:sizes:4"], "has no setting"),
        (["--models", "native:roundup_power2_divisions:[3:2]"], "powers of two"),
        (["--models", "bfc:fast:1"], "has no setting"),
        (["--models", ""], "no model"),
        (["--memory", "lots"], "is not a size"),
        (["--device", "7"], "on device 7"),
        (["--device", "65536"], "not in range"),
    ],
)
def test_wrong_arguments_get_one_sentence(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    result = run(log_of(tmp_path, ("allocate", 0x1000000, MIB)), *arguments)
    assert result.returncode == 2
    assert sentence in result.stderr and result.stderr.count("\n") == 1
    assert result.stdout == ""


DIES = f"""{CUDA_BEGINS}
def take(mebi):
    got = ctypes.c_uint64()
    result = cuda.cuMemAlloc_v2(ctypes.byref(got), ctypes.c_size_t(mebi << 20))
    return got if result == 0 else None
held = [take(100) for _ in range(20)]
assert held[-1] is None, "the card is smaller than that"
"""


def test_a_dead_job_is_replayed_with_the_memory_of_its_card(tmp_path: Path) -> None:
    card = "--simulate=h100,memory=1GiB"
    command = [VRAMSTOW, "run", card, "--trace-dir", tmp_path, "--", sys.executable, "-c", DIES]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    [trace] = tmp_path.glob("*.stow")
    facts = replay("--search", trace)
    assert facts["memory_is_of_card"]
    assert 500 << 20 < facts["memory_bytes"] < 1 << 30
    assert facts["requests"]["failed"] > 0
    assert all(model["out_of_memory"] > 0 for model in facts["models"]), "nobody can serve it"
    assert not facts["search"]["serves"]
    text = run("--search", trace).stdout
    assert "as the job had on its card" in text
    assert "The job ran out of memory" in text
    table = text.partition("out of memory\n")[2].partition("best static packing")[0]
    assert all("does not serve it" in line for line in table.splitlines()), table
    assert "None of them serves all requests with" in text
    assert "the defaults" not in text
    # The flag --memory overrides the recorded size of the GPU. With enough memory an answer is
    # found, but never the default settings.
    enough = run("--search", "--memory", "8GiB", trace).stdout
    assert "as the job had" not in enough and "does not serve it" not in enough
    assert "Try: the defaults" not in enough
    assert "Try: PYTORCH_CUDA_ALLOC_CONF=" in enough
