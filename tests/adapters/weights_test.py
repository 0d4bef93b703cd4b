"""Weights are reported as parameters of a job, however they were loaded to the GPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

OWN = Path(__file__).parent / "programs"
TOLERANCE = 0.05
Rehearse = Callable[..., Rehearsal]


@pytest.fixture
def told(rehearse: Rehearse, python: str, adapter_folder: str) -> Callable[..., tuple[str, dict]]:
    """Runs a program in the simulator; returns its last line, and bytes by category."""

    def run(program: str, *arguments: str, card: str = "1GiB") -> tuple[str, dict]:
        job = rehearse(
            python,
            OWN / program,
            *arguments,
            card=f"h200,memory={card},values=off",
            env={"VRAMSTOW_ADAPTER_DIR": adapter_folder, "VRAMSTOW_CENSUS": "off"},
        )
        assert job.status == 0, job.err[-2000:]
        rows = job.analysis()["by_category"]
        return job.out.splitlines()[-1], {r["category"]: r["bytes_at_peak"] for r in rows}

    return run


@pytest.mark.parametrize(
    "kind",
    ["copied", "assigned", "filled", "moved_behind", "entered", "quantised", "adapted"],
)
def test_what_modules_hold_is_parameters(told: Callable[..., tuple[str, dict]], kind: str) -> None:
    line, found = told("weights.py", kind)
    assert found["parameters"] == pytest.approx(int(line), rel=TOLERANCE), found


@pytest.mark.parametrize("arguments", [[], ["flat"]], ids=["each", "flat"])
def test_what_only_an_engine_holds_is_none(
    told: Callable[..., tuple[str, dict]], arguments: list[str]
) -> None:
    line, found = told("engine_weights.py", *arguments)
    for name, size in json.loads(line).items():
        assert found[name] == pytest.approx(size, rel=TOLERANCE), (name, found)


@pytest.mark.parametrize("arguments", [[], ["moved"]], ids=["made", "moved"])
def test_state_that_a_module_keeps_for_its_optimizer_is_no_parameter(
    told: Callable[..., tuple[str, dict]], arguments: list[str]
) -> None:
    line, found = told("learning_tables.py", *arguments)
    for name, size in json.loads(line).items():
        assert found[name] == pytest.approx(size, rel=TOLERANCE), (name, found)


@pytest.mark.parametrize(
    "kind",
    [
        "from_file",
        "from_host",
        "moved",
        "eight_bits",
        "not_stepped",
        "swapped",
        "swapped_late",
        "sharded",
    ],
)
def test_state_is_the_optimizers_whoever_made_it(
    told: Callable[..., tuple[str, dict]], kind: str
) -> None:
    line, found = told("loaded_state.py", kind, card="2GiB")
    for name, size in json.loads(line).items():
        assert found[name] == pytest.approx(size, rel=TOLERANCE), (name, found)


@pytest.mark.parametrize(
    "package",
    ["transformers", "accelerate", "bitsandbytes", "peft", "safetensors", "torchao"],
)
def test_what_packages_load_is_parameters(
    told: Callable[..., tuple[str, dict]], package: str
) -> None:
    for name in ("transformers", package):
        pytest.importorskip(name, reason=f"needs the package {name}: setup/clients/peft.txt")
    line, found = told("loaded_weights.py", package, card="8GiB")
    assert found["parameters"] == pytest.approx(int(line), rel=TOLERANCE), found
