"""The kit that accepts a card: packed from the wheel, and rehearsed on a simulated card.

VRAMSTOW_TEST_WHEEL names a wheel that setup/wheel made; else it is made.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, check_needs, must

MOST_BYTES = 50 << 20
STEPS = 17
KIT = ROOT / "tests/card"


@pytest.fixture(scope="module")
def bundle(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit")
    must(KIT / "pack", wheel, folder / "kit.tar.gz", "--build", BUILD)
    assert (folder / "kit.tar.gz").stat().st_size <= MOST_BYTES
    with tarfile.open(folder / "kit.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    return folder / "vramstow-card"


def accept(
    bundle: Path, results: Path, *options: str, python: str = sys.executable
) -> tuple[subprocess.CompletedProcess[str], dict]:
    """Runs the kit on a simulated card."""
    rehearsal = {
        "VRAMSTOW_CARD_SIMULATE": "h200",
        "VRAMSTOW_CARD_PROGRAM": str(BUILD / "bin/vramstow"),
    }
    ran = subprocess.run(
        (bundle / "run", "--python", python, "--to", results, "--memory", "0.5", *options),
        env=os.environ | rehearsal,
        capture_output=True,
        text=True,
        check=False,
    )
    file = results / "results.json"
    return ran, json.loads(file.read_text()) if file.exists() else {}


def test_it_has_no_simulator_and_needs_the_c_library_only(bundle: Path) -> None:
    for folder in ("vramstow", "vramstow.libs"):
        check_needs(bundle / folder, "GLIBC_2.31")
    check_needs(bundle / "bin", "GLIBC_2.35")  # the contract, of this build
    assert not list(bundle.rglob("libcud*"))


def test_all_steps_pass_in_a_rehearsal(bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the PyTorch wheel")
    ran, results = accept(bundle, tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert len(results["steps"]) == STEPS and all(step["passed"] for step in results["steps"])
    page = (tmp_path / "results.md").read_text()
    assert f"{STEPS} of {STEPS} steps" in page and "rehearsal of the kit" in page
    assert results["about"]["card"] == "NVIDIA H200, 140 GiB"


def test_a_step_that_fails_leaves_the_others(bundle: Path, tmp_path: Path) -> None:
    """Here the step's job ends in an error: nothing was held, so that nothing was moved."""
    pytest.importorskip("torch", reason="needs the PyTorch wheel")
    job = bundle / "jobs/oversubscribed.py"
    kept = job.read_text()
    try:
        job.write_text("import sys\nsys.exit('no room')\n")
        ran, results = accept(bundle, tmp_path, "--only", "doctor,offload,after")
    finally:
        job.write_text(kept)
    assert ran.returncode == 1
    passed = {step["name"]: step["passed"] for step in results["steps"]}
    assert passed == {"doctor": True, "offload": False, "after": True}
    assert "status 1: no room" in results["steps"][1]["seen"]
    assert "**no**" in (tmp_path / "results.md").read_text()


def test_what_is_wrong_is_one_sentence(bundle: Path, tmp_path: Path) -> None:
    for options, said in (
        (("--only", "dance"), "unknown steps dance"),
        (("--memory", "0"), "--memory below 0.25"),
    ):
        ran, _ = accept(bundle, tmp_path, *options)
        assert ran.returncode == 2 and said in ran.stderr
    ran, _ = accept(bundle, tmp_path, python="/nowhere/python")
    assert ran.returncode == 2 and "--python" in ran.stderr
    (tmp_path / "no.whl").write_text("no zip")
    packed = subprocess.run(
        (KIT / "pack", tmp_path / "no.whl", tmp_path / "x.tar.gz"), capture_output=True, text=True
    )
    assert packed.returncode == 1 and "is no wheel" in packed.stderr


def test_a_build_without_tests_is_named(wheel: Path, tmp_path: Path) -> None:
    packed = subprocess.run(
        (KIT / "pack", wheel, tmp_path / "x.tar.gz", "--build", tmp_path),
        capture_output=True,
        text=True,
    )
    assert packed.returncode == 1 and "call tests/run first" in packed.stderr
