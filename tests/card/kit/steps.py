"""The steps of the acceptance, each a function of the machine, with its goal and its time.

A step gives a figure and says whether the goal was reached. What it raises is the step's failure;
the steps after it run all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kit.machine import SIMULATE, Ended, Machine

MIB = 1 << 20
TRAINING = (("train_like_cpu.py", "SGD"), ("train_like_cpu.py", "Adam"))
SHORT_RUNS = 20
# Rules whose test takes all memory of the card, which others may be using.
FILLING = ("SharedCardTest.CardThatAnotherProcessFillsIsOutOfMemoryUntilItGivesBack",)


class Failed(Exception):
    """The goal was not reached; the text says what was seen."""


@dataclass
class Seen:
    """What one step leaves for those after it."""

    losses: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    free_bytes: int = 0


def must(machine: Machine, command: list[str]) -> Ended:
    ended = machine.run(command)
    if ended.failure_reason:
        raise Failed(ended.failure_reason)
    return ended


def doctor(machine: Machine, _seen: Seen) -> str:
    simulate = [f"--simulate={SIMULATE}"] if SIMULATE else []
    asked = machine.run(machine.vramstow("doctor", "--json", *simulate))
    found = json.loads(asked.out)
    broken = [one["said"] for one in found["findings"] if one["verdict"] == "broken"]
    if broken or not found["all_works"]:
        raise Failed("; ".join(broken) or "not everything works: see vramstow doctor")
    return next(one["said"] for one in found["findings"] if one["id"] == "driver.0")


def identity(machine: Machine, _seen: Seen) -> str:
    """Each look-up of a driver's function has the same answer with the preload and without."""
    questions = machine.job("questions.py", "look_ups", machine.driver)
    machine.extra["VRAMSTOW_FUNCTIONS"] = str(machine.bundle / "kit/driver_functions.def")
    hooked = ("--no-trace", "--pool=on", "--offload=auto", "--launches=count")
    plain = json.loads(must(machine, machine.native(questions)).out)
    ours = json.loads(must(machine, machine.under(questions, *hooked)).out)
    other = [look_up for look_up in plain if ours.get(look_up) != plain[look_up]]
    if other or not plain:
        raise Failed(f"{len(other)} of {len(plain)} look-ups differ, such as {other[:3]}")
    return f"{len(plain)} look-ups"


def contract(machine: Machine, _seen: Seen) -> str:
    """What the simulator was made by: each rule in a process of its own, as some break contexts."""
    program = str(machine.bundle / "bin/driver_contract")
    machine.extra["VRAMSTOW_TEST_DRIVER"] = machine.driver
    names, suite = [], ""
    for line in must(machine, [program, "--gtest_list_tests"]).out.splitlines():
        name = line.split("#")[0].rstrip()
        if not name.startswith(" "):
            suite = name
        else:
            names.append(suite + name.strip())
    broken, skipped = [], 0
    for name in names:
        if name in FILLING and not SIMULATE:
            skipped += 1
            continue
        machine.extra["VRAMSTOW_RUN_ID"] = name  # processes of one test share a simulated card
        ended = machine.run([program, f"--gtest_filter={name}"])
        skipped += "[  SKIPPED ]" in ended.out
        if ended.status != 0:
            broken.append(name)
    if broken or not names:
        raise Failed(f"{len(broken)} of {len(names)} rules do not hold: {', '.join(broken)}")
    return f"{len(names) - skipped} rules hold, {skipped} skipped"


def free_bytes(machine: Machine) -> int:
    asking = "import torch; print(torch.cuda.mem_get_info()[0])"
    return int(must(machine, machine.native([machine.python, "-c", asking])).out.split()[-1])


def look_before(machine: Machine, seen: Seen) -> str:
    seen.free_bytes = free_bytes(machine)
    if seen.free_bytes < machine.memory_bytes * 3 // 2:
        raise Failed(f"only {seen.free_bytes // MIB} MiB are free: give a smaller --memory")
    return f"{seen.free_bytes // MIB} MiB free"


def look_after(machine: Machine, seen: Seen) -> str:
    free = free_bytes(machine)
    if free < seen.free_bytes - 64 * MIB:
        raise Failed(f"{free // MIB} MiB free, {seen.free_bytes // MIB} MiB before")
    return f"{free // MIB} MiB free"


def losses_of(
    machine: Machine, wrap: Callable[[list[str]], list[str]], how: str, seen: Seen
) -> str:
    """Trains, and compares with what the first training gave; returns how long it took."""
    seen.seconds[how] = 0
    for job in TRAINING:
        ended = must(machine, wrap(machine.job(*job)))
        losses = [line.split()[0] for line in ended.out.splitlines() if line.strip()]
        if not losses:
            raise Failed(f"{' '.join(job)} printed no losses")
        if losses != seen.losses.setdefault(job, losses):
            raise Failed(f"{' '.join(job)}: other losses than native")
        seen.seconds[how] += ended.seconds
    native = seen.seconds.get("native", seen.seconds[how])
    return f"{seen.seconds[how]:.1f} s, {seen.seconds[how] / native - 1:+.0%} of native"


def train_native(machine: Machine, seen: Seen) -> str:
    losses_of(machine, machine.native, "native", seen)
    losses_of(machine, machine.native, "again", seen)
    return f"{seen.seconds['native']:.1f} s and {seen.seconds['again']:.1f} s"


def train_observed(machine: Machine, seen: Seen) -> str:
    return losses_of(machine, lambda job: machine.under(job), "observed", seen)


def train_pooled(machine: Machine, seen: Seen) -> str:
    pooled = ("--pool=on", "--check")
    return losses_of(machine, lambda job: machine.under(job, *pooled), "pooled", seen)


def graphs(machine: Machine, _seen: Seen) -> str:
    native = must(machine, machine.native(machine.job("cuda_graph.py"))).out
    pooled = must(machine, machine.under(machine.job("cuda_graph.py"), "--pool=on")).out
    if native != pooled:
        raise Failed("other losses than native")
    return f"{len(pooled.splitlines()) - 1} replays"


def compiled(machine: Machine, _seen: Seen) -> str:
    job = machine.job("compiled_training.py")
    native = must(machine, machine.native(job)).out
    for flags in ((), ("--pool=on",)):
        if must(machine, machine.under(job, *flags)).out != native:
            raise Failed(f"other losses than native with {' '.join(flags) or 'the observer'}")
    return f"{len(native.splitlines())} steps"


def larger(machine: Machine, _seen: Seen) -> str:
    """Training at 1.25 times the limit, beside hooks that a user would have to write."""
    megabytes = str(machine.memory_bytes * 5 // 4 // MIB)
    flags = ("--pool=on", "--offload=auto", f"--limit={machine.memory_bytes}")
    ours = must(
        machine, machine.under(machine.job("larger_than_card.py", "plain", megabytes), *flags)
    ).out.splitlines()
    hooks = must(
        machine, machine.native(machine.job("larger_than_card.py", "hooks", megabytes))
    ).out.splitlines()
    if ours[:-1] != hooks[:-1] or len(ours) < 2:
        raise Failed("other losses than with PyTorch's hooks")
    seconds = [float(lines[-1].removeprefix("seconds ")) for lines in (ours, hooks)]
    return f"a step takes {seconds[0]:.2f} s, with save_on_cpu {seconds[1]:.2f} s"


def tensor_cost(machine: Machine, _seen: Seen) -> str:
    job = machine.job("tensor_pairs.py")
    ways = {
        "native": machine.native(job),
        "observed": machine.under(job),
        "pooled": machine.under(job, "--pool=on", "--no-trace"),
    }
    best: dict[str, int] = {}
    for _ in range(3):
        for name, command in ways.items():
            spent = int(must(machine, command).out.split()[-1])
            best[name] = min(best.get(name, spent), spent)
    return ", ".join(f"{name} {spent} ns" for name, spent in best.items())


def sleep_cost(machine: Machine, _seen: Seen) -> str:
    machine.extra["VRAMSTOW_BUILD"] = str(Path(machine.program).parents[1])
    real = [] if SIMULATE else ["--real"]
    gib = f"{machine.memory_bytes / (4 << 30):.3f}"
    lines = must(machine, machine.job("sleep_cost.py", "--rounds", "3", "--gib", gib, *real)).out
    return "; ".join(" ".join(line.split()) for line in lines.splitlines())


def offload(machine: Machine, _seen: Seen) -> str:
    held = machine.memory_bytes * 5 // 4 // MIB
    flags = ("--pool=on", "--offload=auto", f"--limit={machine.memory_bytes}", "--json")
    job = machine.job("oversubscribed.py", "--megabytes", str(held))
    ended = must(machine, machine.under(job, *flags))
    told = json.loads(ended.err.strip().splitlines()[-1])
    moved = told["offload"]["out_bytes"] // MIB
    if moved == 0:
        raise Failed("nothing was moved to the host")
    return f"{held} MiB held under {machine.memory_bytes // MIB} MiB, {moved} MiB moved"


def sleep(machine: Machine, _seen: Seen) -> str:
    job = machine.job("sleeping.py", "--sleep", "pause")
    ended = must(machine, machine.under(job, "--pool=on", "--offload=explicit"))
    return f"{len(ended.out.splitlines())} times"


def short_runs(machine: Machine, _seen: Seen) -> str:
    program = "import torch; torch.zeros(1, device='cuda')"
    for number in range(SHORT_RUNS):
        command = [machine.python, "-c", program]
        ended = machine.run(machine.under(command, "--pool=on", "--no-trace"))
        if ended.failure_reason:
            raise Failed(f"run {number + 1} {ended.failure_reason}")
    return f"{SHORT_RUNS} runs with status 0"


def explain(machine: Machine, _seen: Seen) -> str:
    folder = machine.folder / "explained"
    folder.mkdir(exist_ok=True)
    job = machine.job("train_like_cpu.py", "SGD")
    must(machine, machine.under(job, f"--trace-dir={folder}", "--stacks=sites"))
    [trace] = folder.glob("*.stow")
    told = json.loads(must(machine, machine.vramstow("analyze", "--json", str(trace))).out)
    if told["counts"]["allocations"] == 0:
        raise Failed("the trace has no allocations")
    return f"{told['counts']['allocations']} allocations in the trace"


@dataclass(frozen=True)
class Step:
    name: str
    goal: str
    seconds: float  # of each command in it
    work: Callable[[Machine, Seen], str]


STEPS = (
    Step("doctor", "everything works", 60, doctor),
    Step("identity", "a look-up has the driver's own answer", 60, identity),
    Step("contract", "the driver does what the simulator does", 30, contract),
    Step("before", "one and a half times --memory is free", 60, look_before),
    Step("native", "the same losses twice", 120, train_native),
    Step("observed", "the losses of native", 120, train_observed),
    Step("pooled", "the losses of native, the pool's invariants hold", 120, train_pooled),
    Step("graphs", "the losses of native", 120, graphs),
    Step("compiled", "the losses of native", 180, compiled),
    Step("offload", "1.25 times the limit is held, every byte right", 180, offload),
    Step("larger", "the losses of PyTorch's own hooks", 180, larger),
    Step("sleep", "what slept is unchanged", 120, sleep),
    Step("sleep cost", "as fast as a copy", 120, sleep_cost),
    Step("tensor cost", "pooled at most native", 60, tensor_cost),
    Step("explain", "a trace is written and read", 120, explain),
    Step("short runs", "all end with status 0", 60, short_runs),
    Step("after", "the card is as it was found", 60, look_after),
)
