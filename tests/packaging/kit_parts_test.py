"""Tests parts of the kit that accepts a real GPU: its results for given observations, without
PyTorch.

Scripts replace the bundle's program and Python.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from built import BUILD, ROOT, run_program

KIT = ROOT / "tests/card"
sys.path.insert(0, str(KIT))

from kit import contract, page, rehearsal, results, sharing, steps, times, touches  # noqa: E402
from kit.machine import Ended, Machine, NoTimeError  # noqa: E402
from kit.outcome import FAILED, NOTHING, OK, Costs, FailedError, NothingShownError  # noqa: E402

STATS = {
    "allocations": 4000,
    "peak_allocated_bytes": 1 << 22,
    "reserved_bytes": 1 << 25,
    "moved_out_bytes": 1 << 28,
}
ABOUT = {
    "card": "Some Card",
    "total_bytes": 80 << 30,
    "free_bytes": 70 << 30,
    "compute_capability": "9.0",
    "driver": "580.1",
    "driver_cuda": "13.0",
    "torch": "2.11.0",
    "torch_cuda": "13.0",
    "python": "3.12.3",
    "system": "Some Linux",
    "processors": 2,
    "bytes": 4 << 20,
    "all_zero": True,
    "stats": STATS,
    "inside": True,
    "why_not": None,
}
LOSSES = "0.5 0.5\n0.25 0.25\n"


class FakeMachine(Machine):
    """Commands end as in `answers`: the first entry whose key is a part of the command line."""

    def __init__(self, folder: Path, answers: dict[str, str], asked: dict | None = None) -> None:
        super().__init__(folder, "python3", 2 << 30, folder)
        self.answers = answers
        self.asked = asked or {"stats": STATS, "why_not": None, "compiled_graphs": 2}

    def run(self, command: list[str]) -> Ended:
        line = " ".join(command)
        if "asked.py" in line:
            (self.folder / "asked.json").write_text(json.dumps(self.asked))
        for part, out in self.answers.items():
            if part in line:
                return Ended(0, out, '{"counts": {"allocations": 7}}', 1.0)
        raise AssertionError(line)


UNSERVED = {"stats": None, "why_not": "the pool has served no memory yet", "compiled_graphs": 2}
TRAINED = {"train_like_cpu": LOSSES}


def after_native(folder: Path) -> steps.Seen:
    seen = steps.Seen()
    steps.train_native(FakeMachine(folder, TRAINED), seen)
    return seen


@pytest.mark.parametrize(
    ("step", "answers"),
    [
        (steps.train_pooled, TRAINED),
        (steps.graphs, {"cuda_graph": "captured\nstep 1: loss 0.5\n"}),
        (steps.compiled, {"compiled_training": "0.5\n0.25\n"}),
        (steps.larger, {"larger_than_card": "0.5\n0.25\nseconds 1.0\n"}),
        (steps.tensor_cost, {"tensor_pairs": "700\n"}),
        (steps.offload, {"oversubscribed": "step 0 5\nstep 1 5\nmappings 300 400\n"}),
        (steps.sleep, {"sleeping": "step 0 1 2 3\n"}),
    ],
)
def test_a_step_that_the_pool_did_not_serve_shows_nothing(
    tmp_path: Path, step: Callable[[Machine, steps.Seen], str], answers: dict[str, str]
) -> None:
    seen = after_native(tmp_path)
    assert step(FakeMachine(tmp_path, answers), seen)
    with pytest.raises(NothingShownError, match="did not serve"):
        step(FakeMachine(tmp_path, answers, UNSERVED), seen)


@pytest.mark.parametrize(
    ("step", "answers"),
    [
        (steps.train_pooled, {"train_like_cpu": "nan 0.5\nnan 0.25\n"}),
        (steps.train_observed, {"train_like_cpu": ""}),
        (steps.graphs, {"cuda_graph": "captured\nstep 1: loss nan\n"}),
        (steps.compiled, {"compiled_training": "inf\n"}),
        (steps.larger, {"larger_than_card": "nan\nnan\nseconds 1.0\n"}),
        (steps.identity, {"questions": "{}"}),
        (steps.identity, {"questions": '{"cuInit 0 0": [0]}'}),
        (steps.look_after, {}),
        (steps.offload, {"oversubscribed": "step 0 5\n"}),
        (steps.offload, {"oversubscribed": "mappings 300 400\n"}),
        (steps.doctor, {"doctor": '{"findings": [], "all_works": true}'}),
    ],
)
def test_what_proves_nothing_is_no_success(
    tmp_path: Path, step: Callable[[Machine, steps.Seen], str], answers: dict[str, str]
) -> None:
    seen = steps.Seen(losses={}, seconds={"native": 2.0})
    with pytest.raises(NothingShownError):
        step(FakeMachine(tmp_path, answers), seen)


def test_mappings_are_counted_beside_those_that_a_process_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "max_map_count"
    limit.write_text("65530\n")
    monkeypatch.setattr(steps, "MOST_MAPPINGS", limit)
    out = "step 0 5\nmappings 310 1310\n"
    said = steps.offload(FakeMachine(tmp_path, {"oversubscribed": out}), steps.Seen())
    assert "every byte right 1 times" in said
    assert "1,310 of 65,530 mappings of the process, 310 before" in said
    limit.write_text("1998\n")
    with pytest.raises(FailedError, match="more than half of them: 1,310 of 1,998"):
        steps.offload(FakeMachine(tmp_path, {"oversubscribed": out}), steps.Seen())


def use_of_memory(*touched: int) -> dict[str, str]:
    """Returns a job whose only case uses the first of two tensors, and a trace of the touches."""
    first, second = [0x10000000, 8 << 20], [0x20000000, 8 << 20]
    told = {"cases": {"relu": [0, [first]]}, "tensors": [first, second]}
    rows = [f"allocate,0x1,{touches.BEGIN}"]
    rows += [f"touch,{address:#x},0" for address in touched]
    rows += [f"allocate,0x1,{touches.END}", "touch,0x20000000,0"]
    return {
        "use_memory": json.dumps(told),
        "export": "\n".join(["kind,address,requested", *rows]),
    }


def test_touches_that_differ_are_findings_on_a_card_and_failures_in_a_rehearsal(
    tmp_path: Path,
) -> None:
    (tmp_path / "touched").mkdir()
    (tmp_path / "touched/one.stow").touch()

    def take(*touched: int, is_rehearsal: bool) -> str:
        machine = FakeMachine(tmp_path, use_of_memory(*touched))
        machine.log = ["the job", "its events"]
        machine.is_rehearsal = is_rehearsal
        return steps.touched(machine, steps.Seen())

    for is_rehearsal in (False, True):
        said = take(0x10400000, is_rehearsal=is_rehearsal)
        assert said == "1 cases, 1 of 1 tensors that they use were seen"
        with pytest.raises(FailedError, match=r"no touch was seen: .* not seen: relu 1"):
            take(is_rehearsal=is_rehearsal)
    both = (0x10400000, 0x20400000)
    assert "seen and not used: relu 1 (findings" in take(*both, is_rehearsal=False)
    with pytest.raises(FailedError, match="seen and not used: relu 1"):
        take(*both, is_rehearsal=True)


def test_losses_without_native_ones_show_nothing(tmp_path: Path) -> None:
    for step in (steps.train_pooled, steps.train_observed):
        with pytest.raises(NothingShownError, match="native"):
            step(FakeMachine(tmp_path, TRAINED), steps.Seen())


def test_what_fails_without_vramstow_shows_nothing_of_it(tmp_path: Path) -> None:
    class NoCompiler(FakeMachine):
        def run(self, command: list[str]) -> Ended:
            return Ended(1, "", "RuntimeError: no C compiler", 1.0)

    for step in (steps.compiled, steps.graphs):
        with pytest.raises(NothingShownError, match=r"without vramstow it ended.*no C compiler"):
            step(NoCompiler(tmp_path, {}), steps.Seen())


def test_zeros_outside_of_the_pool_is_a_failure(tmp_path: Path) -> None:
    for change, why in (
        ({}, None),
        ({"stats": None, "why_not": "no pool"}, "no pool"),
        ({"inside": False}, "not the pool's"),
        ({"all_zero": False}, "not zero"),
    ):
        machine = FakeMachine(tmp_path, {"about.py": json.dumps(ABOUT | change)})
        if why is None:
            assert "4 MiB lies in the pool" in steps.zeros(machine, steps.Seen())
            continue
        with pytest.raises(FailedError, match=why):
            steps.zeros(machine, steps.Seen())


def test_costs_are_held_to_goals(tmp_path: Path) -> None:
    costs = Costs()
    costs.hold("resume", 8.77, 1.5, "of a copy")
    with pytest.raises(FailedError, match=r"resume 8.77 of a copy \(goal 1.5\)"):
        costs.judge()
    slow = (
        "pause 9.0 ms 1 GiB/s 1.02 of copy out\n"
        "resume 9.0 ms 1 GiB/s 9.0 of copy in, {} of copy into new memory\n"
    )
    machine = FakeMachine(tmp_path, {"sleep_cost": slow.format("8.77")})
    with pytest.raises(FailedError, match="too slow"):
        steps.sleep_cost(machine, steps.Seen())
    machine = FakeMachine(tmp_path, {"sleep_cost": slow.format("1.20")})
    assert "1.20 times (goal 1.5)" in steps.sleep_cost(machine, steps.Seen())
    with pytest.raises(NothingShownError):
        steps.sleep_cost(FakeMachine(tmp_path, {"sleep_cost": ""}), steps.Seen())
    machine.is_rehearsal = True
    with pytest.raises(NothingShownError, match="link"):
        steps.sleep_cost(machine, steps.Seen())
    machine.answers = {"sleep_cost": "by the model's clock\n" + slow.format("1.25")}
    seen = steps.sleep_cost(machine, steps.Seen())
    assert "a pinned copy's rate pause reaches 0.98, resume 0.11" in seen


SHARED = {
    "exit_status": 0,
    "seconds": 40.0,
    "rounds": 9,
    "held_bytes": 48 << 30,
    "total_bytes": 80 << 30,
    "wrong_bytes": 0,
    "turns": 10,
    "out_bytes": 170_000_000_000,
    "in_bytes": 160_000_000_000,
    "waited_seconds": 12.3,
    "out_gb_per_second": 48.0,
    "in_gb_per_second": 50.5,
}


def test_shared_turns_need_right_bytes_and_enough_turns() -> None:
    said = sharing.judge([SHARED, SHARED])
    assert said.startswith("two processes of 60% of the GPU's memory each, 40 s: 10 turns")
    assert "170.00 GB out at 48.00 GB/s, 160.00 GB in at 50.50 GB/s" in said
    for changes, why in (
        ({"wrong_bytes": 7, "exit_status": 3}, "7 bytes were wrong"),
        ({"exit_status": None}, "statuses 0, none in time"),
        ({"turns": 4}, "only 10 and 4 turns of 10"),
    ):
        with pytest.raises(FailedError, match=why):
            sharing.judge([SHARED, SHARED | changes])
    for nothing, why in (
        ({"exit_status": 0, "seconds": 1.0}, "no figures"),
        (SHARED | {"out_bytes": 0}, "no memory moved"),
    ):
        with pytest.raises(NothingShownError, match=why):
            sharing.judge([nothing, nothing])


def test_turns_need_a_gpu_and_a_host_with_room() -> None:
    total = 80 << 30
    assert sharing.why_not(total, total - (2 << 30), 64 << 30) == ""
    assert "60 GiB are needed" in sharing.why_not(total, total, 32 << 30)
    assert "only 40 GiB of 80 GiB of the GPU" in sharing.why_not(total, total // 2, 64 << 30)


def test_times_are_findings_on_a_card_and_the_models_on_a_simulated_one(tmp_path: Path) -> None:
    rows = [
        {"name": "map", "unit": "us", "measured": 0.7, "modelled": 1.0},
        {"name": "copy", "unit": "GB/s", "measured": 55.0, "modelled": 55.1},
    ]

    def step(clock: str, why_not_all: str = "") -> str:
        said = {"clock": clock, "model_card": "h100", "times": rows, "why_not_all": why_not_all}
        machine = FakeMachine(tmp_path, {"driver_times": json.dumps(said)})
        return steps.driver_times(machine, steps.Seen())

    seen = step("card", "cuMemCreate failed with 801.")
    assert "1 of 2 times differ by more than 25% from the model of h100: map (0.70)" in seen
    assert "copy: 55 GB/s (model 55.1)" in seen and "failed with 801" in seen
    with pytest.raises(FailedError, match="other than the model: map: "):
        step("model")
    with pytest.raises(NothingShownError):
        step("machine")
    rows[0]["measured"] = 1.0
    assert step("model").startswith("2 times, all of them the model's")
    with pytest.raises(FailedError, match="801"):
        step("model", "cuMemCreate failed with 801.")
    rows[0]["measured"] = 0.0
    with pytest.raises(FailedError, match="no time: map"):
        step("card")


def test_the_program_that_times_the_driver_gives_the_model_of_a_simulated_card(
    tmp_path: Path,
) -> None:
    program = BUILD / "tests/driver_times"
    if not program.exists():
        pytest.skip("the build has no driver_times")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/driver_times").symlink_to(program)
    machine = Machine(tmp_path, sys.executable, 1 << 30, tmp_path)
    machine.driver = str(BUILD / "lib/vramstow/simulator/libcuda.so.1")
    for card, rate in (("h100", "54.9"), ("a100", "25")):
        machine.begin(60, 60)
        machine.extra = {"VRAMSTOW_SIMULATED_CARD": f"{card},clock=model"}
        seen = times.measure(machine)
        assert seen.startswith("34 times, all of them the model's"), seen
        assert f"copy to the host, mapped host memory: {rate} GB/s" in seen
        assert "page-locked memory is made: 0.31 s/GiB (model 0.31)" in seen
    machine.extra = {"VRAMSTOW_SIMULATED_CARD": "h100"}
    with pytest.raises(NothingShownError, match="says nothing of a driver's times"):
        times.measure(machine)


def test_the_callers_way_to_the_driver_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/local/nvidia/lib64")
    monkeypatch.setenv("LD_PRELOAD", "/opt/other.so:/opt/lib/libvramstow.so")
    monkeypatch.setenv("VRAMSTOW_POOL", "on")
    monkeypatch.setenv("PYTHONPATH", "/opt/packages")
    told = Machine(tmp_path, "/opt/bin/python", 1 << 30, tmp_path).environment()
    assert told["LD_LIBRARY_PATH"] == "/usr/local/nvidia/lib64"
    assert told["LD_PRELOAD"] == "/opt/other.so"
    assert told["PYTHONPATH"] == f"{tmp_path}:/opt/packages"
    assert "VRAMSTOW_POOL" not in told


def test_a_rehearsal_preloads_what_the_program_would() -> None:
    source = (ROOT / "tools/launch/installation.cc").read_text()
    listed = re.search(r"kSimulatorPreloads\[\] = \{(.*?)\}", source, re.DOTALL)
    assert listed is not None
    assert tuple(re.findall(r'"([^"]+)"', listed[1])) == rehearsal.LIBRARIES


def fake_results(folder: Path) -> results.Results:
    about = {"memory_mib": 512, "minutes": 9, "simulate": "", "steps": 20, "seconds": 1.0}
    return results.Results(folder, about | {"date": "2026-01-01"})


def step_of(name: str, outcome: str) -> dict:
    return {"name": name, "goal": "a goal", "seen": "this | that", "outcome": outcome, "seconds": 1}


def test_results_are_few_files_of_a_bounded_size(tmp_path: Path) -> None:
    written = fake_results(tmp_path)
    for number in range(12):
        written.add(step_of(f"step {number}", FAILED), f"{number}" * (3 << 20))
        written.add(step_of(f"fine {number}", OK), "x")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) <= 8 and sum(path.stat().st_size for path in files) <= 16 << 20
    assert all(len(path.relative_to(tmp_path).parts) <= 2 for path in files)
    told = json.loads((tmp_path / "results.json").read_text())
    assert all((tmp_path / step["log"]).exists() for step in told["steps"] if "log" in step)
    first = (tmp_path / told["steps"][0]["log"]).read_text()
    assert first == "== step 0\n" + "0" * (3 << 20), "whole while there is room"
    assert "are left out" in (tmp_path / told["steps"][-2]["log"]).read_text()


def test_the_page_tells_three_outcomes(tmp_path: Path) -> None:
    written = fake_results(tmp_path)
    written.about |= ABOUT
    for outcome in (OK, FAILED, NOTHING):
        written.add(step_of(outcome, outcome), "log")
    text = (tmp_path / "results.md").read_text()
    assert (
        "1 of 20 steps reached their goals, 1 did not, 1 showed nothing, 17 were not begun" in text
    )
    assert "this / that | *nothing shown*" in text and "**no**" in text
    for said in (
        "Some Card",
        "580.1, for CUDA 13.0",
        "2.11.0 with CUDA 13.0",
        "1 s of at most",
    ):
        assert said in text, said
    assert page.page({"about": written.about, "steps": []}).startswith("# Acceptance on Some Card")


# A program of contract rules: it crashes in one, skips another, and a third breaks the context of
# the rest.
RULES = """#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then
  echo 'Suite.'; for n in Good Dying Poison Last Lonely BreaksIt Old Bad; do echo "  $n"; done
  echo 'FillingTest.'; echo '  All'; echo 'UndefinedTest.'; echo '  Null'; exit
fi
echo "$1" >> "$KEPT"
status=0
poisoned=0
for name in $(echo "${1#--gtest_filter=}" | tr : ' '); do
  echo "[ RUN      ] $name"
  case $name in
    *Dying) exit 134;;
    *Poison) poisoned=1; echo "[       OK ] $name (0 ms)";;
    *Bad) echo "[  FAILED  ] $name (0 ms)"; status=1;;
    *Old) echo 'driver.cc:1: Skipped'; echo 'the driver has no cuNew'; echo
          echo "[  SKIPPED ] $name (0 ms)";;
    *) if [ $poisoned = 0 ]; then echo "[       OK ] $name (0 ms)"
       else echo "[  FAILED  ] $name (0 ms)"; status=1; fi;;
  esac
done
exit $status
"""


def rules_machine(tmp_path: Path, script: str) -> Machine:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/driver_contract"
    program.write_text(script)
    program.chmod(0o755)
    machine = Machine(tmp_path, sys.executable, 1 << 30, tmp_path)
    machine.begin(5, 60)
    machine.extra["KEPT"] = str(tmp_path / "kept")
    return machine


def test_rules_share_a_process_and_outlive_one_that_dies(tmp_path: Path) -> None:
    machine = rules_machine(tmp_path, RULES)
    rules = contract.Contract(machine).run()
    names = ("Good", "Poison", "Last", "Lonely", "BreaksIt")
    assert rules.held == {f"Suite.{name}" for name in names}
    assert rules.skipped == {"Suite.Old": "the driver has no cuNew"}
    assert set(rules.broken) == {"Suite.Dying", "Suite.Bad"}
    assert "status 134" in rules.broken["Suite.Dying"]
    ran = (tmp_path / "kept").read_text().splitlines()
    assert ran[0].count(":") == 6, "all in one process"
    assert not any("Filling" in line for line in ran), "what fills the card is left out"
    assert not any("Undefined" in line for line in ran), "and what is undefined on one"
    assert "--gtest_filter=Suite.BreaksIt" in ran, "what breaks its context runs by itself"
    with pytest.raises(
        FailedError, match=r"2 rules .*Suite.Dying .*5 rules hold; 1 skipped: 1 because"
    ):
        contract.told(rules)


def test_rules_without_time_or_of_which_none_holds_show_nothing(tmp_path: Path) -> None:
    machine = rules_machine(tmp_path, RULES)
    asked = []

    def run(command: list[str]) -> Ended:
        asked.append(command)
        if len(asked) > 1:
            raise NoTimeError
        return Machine.run(machine, command)

    machine.run = run  # type: ignore[method-assign]
    rules = contract.Contract(machine).run()
    assert len(rules.untried) == 8
    with pytest.raises(NothingShownError, match="8 not tried"):
        contract.told(rules)
    with pytest.raises(NothingShownError):
        contract.told(contract.Rules(skipped={"A.B": "no card"}))


# A bundle in which the program and Python are scripts, to test the parts of `run` that need
# neither.
PROGRAM = """#!/bin/sh
[ "$1" = --version ] && echo 'vramstow 1.2' && exit
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""
PYTHON = """#!/bin/sh
case $* in
  *about.py*) cat "$ABOUT";;
  *) exec sleep 600;;
esac
"""


def write_script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def begin_kit(tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    bundle = tmp_path / "bundle"
    shutil.copytree(KIT / "kit", bundle / "kit")
    shutil.copy(KIT / "run", bundle / "run")
    write_script(bundle / "vramstow/native/bin/vramstow", PROGRAM)
    write_script(tmp_path / "python", PYTHON)
    (tmp_path / "about.json").write_text(json.dumps(ABOUT))
    return subprocess.Popen(
        (bundle / "run", "--python", tmp_path / "python", "--to", tmp_path / "to", *options),
        env={k: v for k, v in os.environ.items() if "VRAMSTOW" not in k}
        | {"ABOUT": str(tmp_path / "about.json")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told_by(tmp_path: Path) -> dict:
    file = tmp_path / "to/results.json"
    return json.loads(file.read_text()) if file.exists() else {"about": {}, "steps": []}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_kit_that_is_killed_leaves_what_was_done(tmp_path: Path, how: signal.Signals) -> None:
    """The first step is quick; the job of the second step does not end."""
    ran = begin_kit(tmp_path, "--only", "zeros,native")
    limit = time.monotonic() + 60
    while told_by(tmp_path)["about"].get("at_work") != "native" and time.monotonic() < limit:
        time.sleep(0.05)
    ran.send_signal(how)
    _, err = ran.communicate(timeout=60) if how == signal.SIGTERM else (ran.wait(60), "")
    told = told_by(tmp_path)
    assert [step["outcome"] for step in told["steps"]] == [OK]
    assert told["about"]["card"] == "Some Card" and told["about"]["at_work"] == "native"
    text = (tmp_path / "to/results.md").read_text()
    assert "1 of 2 steps reached their goals" in text and "1 were not begun" in text
    assert "2.11.0" in text and "580.1" in text
    if how == signal.SIGTERM:
        assert ran.returncode == 143 and "SIGTERM" in err
        assert "Stopped: SIGTERM while at work on native" in text
        assert not sleepers(tmp_path), "its job has ended with it"
    for process in sleepers(tmp_path):
        os.kill(process, signal.SIGKILL)


def sleepers(tmp_path: Path) -> list[int]:
    """Returns the kit's own processes that sleep: those with this test's folder in their
    environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            mine = str(tmp_path).encode() in (entry / "environ").read_bytes()
            if mine and b"sleep" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_the_overall_limit_ends_the_step_at_work_and_leaves_the_rest(tmp_path: Path) -> None:
    # The time suffices for the quick step on a busy machine; the job of the next step sleeps for
    # minutes.
    ran = begin_kit(tmp_path, "--only", "zeros,native,sleep", "--minutes", "0.5")
    begin = time.monotonic()
    ran.communicate(timeout=300)
    assert time.monotonic() - begin < 120 and ran.returncode == 3
    told = told_by(tmp_path)
    assert [step["outcome"] for step in told["steps"]] == [OK, NOTHING, NOTHING]
    assert all(step["seen"] == "no time was left" for step in told["steps"][1:])


def test_a_failed_step_leaves_its_whole_log(tmp_path: Path) -> None:
    ran = begin_kit(tmp_path, "--only", "doctor,zeros")
    ran.communicate(timeout=60)
    assert ran.returncode == 1
    [zeros, doctor] = told_by(tmp_path)["steps"]
    assert (zeros["outcome"], doctor["outcome"]) == (OK, FAILED)
    assert "doctor --json" in (tmp_path / "to" / doctor["log"]).read_text()


def test_a_rule_needs_only_its_own_names(tmp_path: Path) -> None:
    """This simulated driver lacks the functions that are new in CUDA 13.0 and 12.5."""
    program = BUILD / "tests/simulator_contract_test"
    driver = BUILD / "lib/vramstow/simulator/libcuda.so.1"
    if not program.exists():
        pytest.skip("the build has no simulator_contract_test")
    contents = driver.read_bytes()
    for name in (b"cuMemGetDefaultMemPool", b"cuMemGetMemPool", b"cuCtxRecordEvent"):
        assert name + b"\0" in contents
        contents = contents.replace(name + b"\0", b"xx" + name[2:] + b"\0")
    older = tmp_path / "libcuda.so.1"
    older.write_bytes(contents)
    rules = "MemoryTest.*:EventTest.*:DeviceTest.*"
    ran = run_program(
        program,
        f"--gtest_filter={rules}",
        env=os.environ
        | {
            "VRAMSTOW_TEST_DRIVER": str(older),
            "VRAMSTOW_SIMULATE": "h200,memory=4GiB",
            "LD_LIBRARY_PATH": str(driver.parent),
        },
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
    tried = contract.Rules()
    contract.read(ran.stdout, "", tried)
    assert {name: why for name, why in tried.skipped.items() if "no cu" in why} == {
        "EventTest.ContextRecordCoversEveryStream": "the driver has no cuCtxRecordEvent"
    }
    assert len(tried.held) > 20 and not tried.broken
