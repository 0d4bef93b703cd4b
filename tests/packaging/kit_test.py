"""Packs the kit that accepts a real GPU from the wheel, and runs it on a simulated GPU.

The bundle has no simulator: it finds the simulated driver as it would find a real one, so the
tested program is the bundle's own. VRAMSTOW_TEST_WHEEL names a wheel that setup/wheel made; without
it the wheel is made. VRAMSTOW_TEST_ROOTS is the same as for bare_test.py, whose root of Debian 13
is used here, too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import bare_root
import pytest
from bare_root import BareRoot
from built import BUILD, ROOT, SIMULATOR, run_program
from conftest import check_needs, must

MOST_BYTES = 50 << 20
STEPS = 21
# A simulated GPU gives no times of transfers and calls unless its clock is the model's.
NOT_SHOWN = {"sleep cost", "times"}
SPECS = ("h200", "h200,primary=private")
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
    bundle: Path, results: Path, *options: str, python: str = sys.executable, spec: str = "h200"
) -> tuple[subprocess.CompletedProcess[str], dict]:
    """Runs the kit on a simulated GPU."""
    rehearsal = {"VRAMSTOW_CARD_SIMULATE": spec, "VRAMSTOW_CARD_DRIVER": str(SIMULATOR)}
    ran = run_program(
        *(bundle / "run", "--python", python, "--to", results, "--memory", "0.5", *options),
        env=os.environ | rehearsal,
    )
    file = results / "results.json"
    return ran, json.loads(file.read_text()) if file.exists() else {}


def test_it_has_no_simulator_and_needs_the_c_library_only(bundle: Path) -> None:
    for folder in ("vramstow", "vramstow.libs"):
        check_needs(bundle / folder, "GLIBC_2.31")
    check_needs(bundle / "bin", "GLIBC_2.35")  # bin/ has the contract of this build
    assert not list(bundle.rglob("libcud*"))


def check_rehearsal(results: dict, page: str, not_shown: set[str]) -> None:
    """Checks that all steps proved something, except those that a simulated GPU cannot show."""
    outcomes = {step["name"]: step["outcome"] for step in results["steps"]}
    seen = {step["name"]: step["seen"] for step in results["steps"]}
    assert len(outcomes) == STEPS
    shown = {name: outcome for name, outcome in outcomes.items() if name not in not_shown}
    assert set(shown.values()) == {"ok"}, {name: seen[name] for name in seen}
    assert all(outcomes[name] == "nothing shown" for name in not_shown), seen
    assert f"{STEPS - len(not_shown)} of {STEPS} steps reached their goals, 0 did not" in page
    assert "rehearsal of the kit" in page
    about = results["about"]
    assert about["card"] == "NVIDIA H200" and about["torch"] and about["driver_cuda"]
    assert 0 < about["seconds"] <= 600
    [figures] = [step["processes"] for step in results["steps"] if step["name"] == "share"]
    for process in figures:
        assert (process["exit_status"], process["wrong_bytes"]) == (0, 0)
        assert process["turns"] >= 10 and process["waited_seconds"] > 0
        assert process["out_bytes"] > 0 and process["in_gb_per_second"] > 0
    assert "no simulator" not in seen["doctor"] and "H200" in seen["doctor"]


@pytest.mark.parametrize("spec", SPECS)
def test_all_steps_show_what_they_prove_in_a_rehearsal(
    bundle: Path, tmp_path: Path, spec: str
) -> None:
    pytest.importorskip("torch", reason="needs the PyTorch wheel")
    ran, results = accept(bundle, tmp_path, spec=spec)
    assert ran.returncode == 3, ran.stdout + ran.stderr
    check_rehearsal(results, (tmp_path / "results.md").read_text(), NOT_SHOWN)


def test_a_rehearsal_by_the_models_clock_shows_times_and_the_cost_of_sleep(
    bundle: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="needs the PyTorch wheel")
    only = ("--only", "before,times,sleep cost,after")
    ran, results = accept(bundle, tmp_path, *only, spec="h100,clock=model")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    seen = {step["name"]: step["seen"] for step in results["steps"]}
    assert "all of them the model's" in seen["times"]
    assert "of a pinned copy's rate pause reaches" in seen["sleep cost"]


def test_a_kit_that_is_killed_leaves_the_steps_until_then(bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the PyTorch wheel")
    rehearsal = {"VRAMSTOW_CARD_SIMULATE": "h200", "VRAMSTOW_CARD_DRIVER": str(SIMULATOR)}
    with subprocess.Popen(
        (bundle / "run", "--python", sys.executable, "--to", tmp_path, "--memory", "0.5"),
        env=os.environ | rehearsal,
        stdout=subprocess.DEVNULL,
    ) as ran:
        limit = time.monotonic() + 300
        while time.monotonic() < limit:
            file = tmp_path / "results.json"
            if file.exists() and len(json.loads(file.read_text())["steps"]) >= 3:
                break
            time.sleep(0.5)
        ran.send_signal(signal.SIGKILL)
    results = json.loads((tmp_path / "results.json").read_text())
    done = [step["name"] for step in results["steps"]]
    assert done[:3] == ["zeros", "doctor", "before"] and len(done) < STEPS
    page = (tmp_path / "results.md").read_text()
    assert "| zeros |" in page and f"{STEPS - len(done)} were not begun" in page
    assert results["about"]["torch"] in page and results["about"]["driver"] in page


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> BareRoot:
    """Makes Debian 13 with Python and PyTorch, without a compiler, like a stranger's machine."""
    why = bare_root.why_not()
    if why is not None:
        pytest.skip(why)
    kept = os.environ.get("VRAMSTOW_TEST_ROOTS")
    root = BareRoot("trixie", Path(kept) if kept else tmp_path_factory.mktemp("roots"))
    why = root.make()
    if why is not None:
        pytest.skip(why)
    if not (root.folder / "opt/job/.torch").exists():
        assert root.run("root", "python3", "-m", "venv", "/opt/job").returncode == 0
        torch = ("pip", "install", "-q", "--no-cache-dir", "torch==2.15.0")
        got = root.run("root", *torch, timeout=3000)
        if got.returncode != 0:
            pytest.skip(f"PyTorch cannot be installed from here: {got.stderr[-300:]}")
        (root.folder / "opt/job/.torch").touch()
    return root


def test_the_bundle_is_whole_in_a_bare_root(bundle: Path, bare: BareRoot) -> None:
    """The bundle is unpacked on a machine with no files of this one, except the driver."""
    for source, name in ((bundle, "opt/vramstow-card"), (SIMULATOR, "opt/driver")):
        shutil.rmtree(bare.folder / name, ignore_errors=True)
        shutil.copytree(source, bare.folder / name)
    rehearsal = {"VRAMSTOW_CARD_SIMULATE": "h200", "VRAMSTOW_CARD_DRIVER": "/opt/driver"}
    command = ("/opt/vramstow-card/run", "--python", "/opt/job/bin/python", "--memory", "0.5")
    ran = bare.run("plain", *command, "--to", "/home/plain/results", timeout=900, **rehearsal)
    assert ran.returncode == 3, ran.stdout + ran.stderr
    results = bare.folder / "home/plain/results"
    page = (results / "results.md").read_text()
    # torch.compile needs a C compiler, with and without vramstow. So the step "compiled" fails
    # here.
    check_rehearsal(
        json.loads((results / "results.json").read_text()), page, NOT_SHOWN | {"compiled"}
    )
    assert "Debian GNU/Linux 13" in page


def test_a_step_that_fails_leaves_the_others(bundle: Path, tmp_path: Path) -> None:
    """The job of this step fails: no memory was held, so none was moved."""
    pytest.importorskip("torch", reason="needs the PyTorch wheel")
    job = bundle / "jobs/oversubscribed.py"
    kept = job.read_text()
    try:
        job.write_text("import sys\nsys.exit('no room')\n")
        ran, results = accept(bundle, tmp_path, "--only", "doctor,before,offload,after")
    finally:
        job.write_text(kept)
    assert ran.returncode == 1
    outcomes = {step["name"]: step["outcome"] for step in results["steps"]}
    assert outcomes == {"doctor": "ok", "before": "ok", "offload": "no", "after": "ok"}
    assert "status 1: no room" in results["steps"][2]["seen"]
    assert "no room" in (tmp_path / results["steps"][2]["log"]).read_text()
    assert "**no**" in (tmp_path / "results.md").read_text()


def test_what_is_wrong_is_one_sentence(bundle: Path, tmp_path: Path) -> None:
    for options, said in (
        (("--only", "dance"), "unknown steps dance"),
        (("--memory", "0"), "--memory below 0.25"),
        (("--minutes", "0"), "--minutes"),
    ):
        ran, _ = accept(bundle, tmp_path, *options)
        assert ran.returncode == 2 and said in ran.stderr
    ran, _ = accept(bundle, tmp_path, python="/nowhere/python")
    assert ran.returncode == 2 and "--python" in ran.stderr
    (tmp_path / "no.whl").write_text("no zip")
    packed = run_program(KIT / "pack", tmp_path / "no.whl", tmp_path / "x.tar.gz")
    assert packed.returncode == 1 and "is no wheel" in packed.stderr


def test_a_build_without_tests_is_named(wheel: Path, tmp_path: Path) -> None:
    packed = run_program(KIT / "pack", wheel, tmp_path / "x.tar.gz", "--build", tmp_path)
    assert packed.returncode == 1 and "call tests/run first" in packed.stderr
