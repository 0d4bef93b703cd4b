"""The steps of the acceptance: each with its goal, and a function of the machine that proves it.

The most informative steps come first, because the time may be over before the last one.
"""

from __future__ import annotations

import concurrent.futures
import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kit import sharing, times, touches
from kit.contract import Contract, told
from kit.machine import Ended, Machine
from kit.outcome import Costs, FailedError, NothingShownError

MIB = 1 << 20
TRAINING = (("train_like_cpu.py", "SGD"), ("train_like_cpu.py", "Adam"))
SHORT_RUNS = 20
# The limits of the measured costs: see the goals of the steps.
MOST_OVER_NATIVE = 2.0  # for a training's whole process, with its start and end
MOST_OVER_HOOKS = 1.5
MOST_OVER_COPY = 1.5
MOST_OF_TENSOR = {"observed": 1.5, "pooled": 1.0}
NOISE = 0.05
MOST_MAPPINGS = Path("/proc/sys/vm/max_map_count")


@dataclass
class Seen:
    """The values that one step stores for later steps."""

    about: dict = field(default_factory=dict)
    losses: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    free_bytes: int = 0
    figures: dict[str, list[dict]] = field(default_factory=dict)  # by step, for results.json


def must(machine: Machine, command: list[str]) -> Ended:
    ended = machine.run(command)
    if ended.failure_reason:
        raise FailedError(ended.failure_reason)
    return ended


def natively(machine: Machine, command: list[str]) -> Ended:
    """Runs the command without vramstow, for comparison. If that fails, the step proves nothing."""
    ended = machine.run(machine.native(command))
    if ended.failure_reason:
        raise NothingShownError(f"without vramstow it {ended.failure_reason}")
    return ended


def last_json(text: str) -> dict:
    """Parses the summary of --json, which is the last line after the job's own output."""
    return json.loads(text.strip().splitlines()[-1])


def judge_served(asked: dict, at_least: int = 1) -> dict:
    """Returns the counts of the pool; a run that the pool did not serve proves nothing."""
    stats = asked["stats"]
    if stats is None or stats["allocations"] < at_least or stats["peak_allocated_bytes"] == 0:
        counted = 0 if stats is None else stats["allocations"]
        why = asked["why_not"] or f"{counted} allocations"
        raise NothingShownError(f"the pool did not serve it: {why}")
    return stats


def pooled(machine: Machine, command: list[str], *flags: str) -> tuple[Ended, dict]:
    """Runs a Python job under the pool; also returns the pool's statistics at the job's end."""
    file = machine.folder / "asked.json"
    file.unlink(missing_ok=True)
    python, program, *arguments = command
    wrapped = [python, str(machine.bundle / "jobs/asked.py"), str(file), program, *arguments]
    ended = must(machine, machine.under(wrapped, "--pool=on", *flags))
    return ended, json.loads(file.read_text())


def are_numbers(lines: list[str]) -> bool:
    """True if there are losses, and all of them are finite numbers."""
    numbers = [float(number) for line in lines for number in re.findall(r"\S+$", line)]
    return bool(numbers) and all(map(math.isfinite, numbers))


def zeros(machine: Machine, seen: Seen) -> str:
    """Checks first of all whether the pool allocates PyTorch's tensors."""
    command = machine.under(machine.job("about.py"), "--pool=on", "--no-trace")
    about = json.loads(must(machine, command).out)
    seen.about |= about
    if not about["all_zero"]:
        raise FailedError("torch.zeros is not zero")
    stats = about["stats"]
    if stats is None:
        raise FailedError(f"vramstow_get_stats has no numbers: {about['why_not']}")
    if not about["inside"] or stats["peak_allocated_bytes"] < about["bytes"]:
        raise FailedError(f"the tensor is not the pool's: {stats}")
    reserved = stats["reserved_bytes"] // MIB
    return f"a tensor of {about['bytes'] // MIB} MiB lies in the pool, which holds {reserved} MiB"


def doctor(machine: Machine, _seen: Seen) -> str:
    asked = machine.run(machine.vramstow("doctor", "--json"))
    if not asked.out:
        raise FailedError(asked.failure_reason)
    found = json.loads(asked.out)
    said = {one["id"]: one for one in found["findings"]}
    broken = [one["said"] for one in found["findings"] if one["verdict"] == "broken"]
    if broken or not found["all_works"]:
        raise FailedError("; ".join(broken) or "not everything works: see vramstow doctor")
    if not {"driver.0", "preload.trace", "preload.pool"} <= said.keys():
        raise NothingShownError("neither trace nor pool was tried")
    limited = [one["said"] for one in found["findings"] if one["verdict"] == "limited"]
    return "; ".join([said["driver.0"]["said"], *(f"limited: {one}" for one in limited)])


def identity(machine: Machine, _seen: Seen) -> str:
    """Checks that each look-up of a driver function has the same result with the preload and
    without."""
    questions = machine.job("questions.py", "look_ups", machine.driver)
    machine.extra["VRAMSTOW_FUNCTIONS"] = str(machine.bundle / "kit/driver_functions.def")
    hooked = ("--no-trace", "--pool=on", "--offload=auto", "--launches=count")
    plain = json.loads(must(machine, machine.native(questions)).out)
    ended = must(machine, machine.under(questions, *hooked))
    ours = json.loads(ended.out)
    other = [look_up for look_up in plain if ours.get(look_up) != plain[look_up]]
    if other:
        raise FailedError(f"{len(other)} of {len(plain)} look-ups differ, such as {other[:3]}")
    if not plain or "libvramstow-core.so is loaded" not in ended.err:
        raise NothingShownError("no look-up went through vramstow")
    return f"{len(plain)} look-ups went through vramstow, with the driver's own answers"


def contract(machine: Machine, _seen: Seen) -> str:
    return told(Contract(machine).run())


def driver_times(machine: Machine, _seen: Seen) -> str:
    return times.measure(machine)


def look(machine: Machine, seen: Seen) -> int:
    """Measures the free memory of the GPU without vramstow."""
    about = json.loads(must(machine, machine.native(machine.job("about.py"))).out)
    seen.about = {**about, **seen.about}
    return about["free_bytes"]


def look_before(machine: Machine, seen: Seen) -> str:
    seen.free_bytes = look(machine, seen)
    if seen.free_bytes < machine.memory_bytes * 3 // 2:
        raise FailedError(f"only {seen.free_bytes // MIB} MiB are free: give a smaller --memory")
    return f"{seen.free_bytes // MIB} MiB free"


def look_after(machine: Machine, seen: Seen) -> str:
    if seen.free_bytes == 0:
        raise NothingShownError("nobody looked before")
    free = look(machine, seen)
    if free < seen.free_bytes - 64 * MIB:
        raise FailedError(f"{free // MIB} MiB free, {seen.free_bytes // MIB} MiB before")
    return f"{free // MIB} MiB free, {seen.free_bytes // MIB} MiB before"


def compare_losses(job: tuple[str, str], ended: Ended, seen: Seen) -> int:
    """Compares the losses with those of the first training; returns how many there are."""
    losses = [line.split()[0] for line in ended.out.splitlines() if line.strip()]
    if not are_numbers(losses):
        raise NothingShownError(f"{' '.join(job)} printed no losses, or such that are no numbers")
    if losses != seen.losses.setdefault(job, losses):
        raise FailedError(f"{' '.join(job)}: other losses than native")
    return len(losses)


def need_native(seen: Seen) -> float:
    if "native" not in seen.seconds:
        raise NothingShownError("there are no native losses to compare with")
    return seen.seconds["native"]


def train_native(machine: Machine, seen: Seen) -> str:
    seconds, count = [], 0
    for _ in range(2):
        ended = [(job, must(machine, machine.native(machine.job(*job)))) for job in TRAINING]
        count = sum(compare_losses(job, one, seen) for job, one in ended)
        seconds.append(sum(one.seconds for _, one in ended))
    seen.seconds["native"] = min(seconds)
    return f"{count} losses twice the same, {seconds[0]:.1f} s and {seconds[1]:.1f} s"


def train_observed(machine: Machine, seen: Seen) -> str:
    native = need_native(seen)
    seconds, count, allocations = 0.0, 0, 0
    for job in TRAINING:
        folder = f"--trace-dir={machine.folder}"
        ended = must(machine, machine.under(machine.job(*job), "--json", folder))
        count += compare_losses(job, ended, seen)
        allocations += last_json(ended.err)["counts"]["allocations"]
        seconds += ended.seconds
    if allocations == 0:
        raise NothingShownError("the traces have no allocation")
    costs = Costs()
    costs.hold("takes", seconds / native, MOST_OVER_NATIVE, "of native's time")
    return costs.judge(f"{count} losses of native, {allocations} allocations in the traces")


def train_pooled(machine: Machine, seen: Seen) -> str:
    native = need_native(seen)
    seconds, count, allocations = 0.0, 0, 0
    for job in TRAINING:
        ended, asked = pooled(machine, machine.job(*job), "--check", "--no-trace")
        count += compare_losses(job, ended, seen)
        allocations += judge_served(asked, at_least=10)["allocations"]
        seconds += ended.seconds
    costs = Costs()
    costs.hold("takes", seconds / native, MOST_OVER_NATIVE, "of native's time")
    return costs.judge(f"{count} losses of native, the pool served {allocations} allocations")


def graphs(machine: Machine, _seen: Seen) -> str:
    job = machine.job("cuda_graph.py")
    native = natively(machine, job).out
    ended, asked = pooled(machine, job, "--no-trace")
    if native != ended.out:
        raise FailedError("other losses than native")
    served = judge_served(asked)["allocations"]
    captured, *replays = native.splitlines() or [""]
    if captured != "captured" or not are_numbers(replays):
        raise NothingShownError("nothing was captured, or its losses are no numbers")
    return f"{len(replays)} replays of a graph, the pool served {served} allocations"


def compiled(machine: Machine, _seen: Seen) -> str:
    job = machine.job("compiled_training.py")
    native = natively(machine, job).out
    if not are_numbers(native.splitlines()):
        raise NothingShownError("it printed no losses, or such that are no numbers")
    if must(machine, machine.under(job, f"--trace-dir={machine.folder}")).out != native:
        raise FailedError("other losses than native with the observer")
    ended, asked = pooled(machine, job, "--no-trace")
    if ended.out != native:
        raise FailedError("other losses than native with the pool")
    served = judge_served(asked)["allocations"]
    if asked["compiled_graphs"] == 0:
        raise NothingShownError("PyTorch compiled nothing")
    steps = len(native.splitlines())
    return f"{steps} steps, {asked['compiled_graphs']} compiled graphs, {served} allocations served"


def larger(machine: Machine, _seen: Seen) -> str:
    """Trains at 1.25 times the limit, compared with hooks that a user would have to write."""
    # A layer's output is the next layer's input, so the job retains half of the given megabytes.
    megabytes = str(2 * machine.memory_bytes * 5 // 4 // MIB)
    flags = ("--offload=auto", f"--limit={machine.memory_bytes}", "--no-trace")
    job = machine.job("larger_than_card.py", "plain", megabytes)
    ended, asked = pooled(machine, job, *flags)
    ours = ended.out.splitlines()
    hooks_job = machine.job("larger_than_card.py", "hooks", megabytes)
    hooks = natively(machine, hooks_job).out.splitlines()
    if ours[:-1] != hooks[:-1] or len(ours) < 2:
        raise FailedError("other losses than with PyTorch's hooks")
    if not are_numbers(ours[:-1]):
        raise NothingShownError("its losses are no numbers")
    moved = judge_served(asked)["moved_out_bytes"] // MIB
    if moved == 0:
        raise NothingShownError("nothing was moved to the host: it was not larger")
    seconds = [float(lines[-1].removeprefix("seconds ")) for lines in (ours, hooks)]
    proved = f"{moved} MiB moved; a step {seconds[0]:.2f} s, with save_on_cpu {seconds[1]:.2f} s"
    if machine.is_rehearsal:
        return f"{proved} (not judged: a simulated card is as fast as this machine)"
    costs = Costs()
    costs.hold("a step takes", seconds[0] / seconds[1], MOST_OVER_HOOKS, "of save_on_cpu's")
    return costs.judge(proved)


def tensor_cost(machine: Machine, _seen: Seen) -> str:
    job = machine.job("tensor_pairs.py")
    ways = {
        "native": machine.native(job),
        "observed": machine.under(job, f"--trace-dir={machine.folder}"),
    }
    best: dict[str, int] = {}
    served = 0
    for _ in range(2):
        for name, command in ways.items():
            spent = int(must(machine, command).out.split()[-1])
            best[name] = min(best.get(name, spent), spent)
        ended, asked = pooled(machine, job, "--no-trace")
        served = judge_served(asked, at_least=1000)["allocations"]
        spent = int(ended.out.split()[-1])
        best["pooled"] = min(best.get("pooled", spent), spent)
    costs = Costs()
    for name, goal in MOST_OF_TENSOR.items():
        costs.hold(
            f"{name} {best[name]} ns,", best[name] / best["native"], goal + NOISE, "of native"
        )
    return costs.judge(f"native {best['native']} ns, the pool served {served} allocations")


def sleep_cost(machine: Machine, _seen: Seen) -> str:
    """Compares pause and resume with plain copies of as many bytes, by the benchmark in bench/."""
    machine.extra["VRAMSTOW_BUILD"] = str(Path(machine.program).parents[1])
    gib = f"{machine.memory_bytes / (4 << 30):.3f}"
    job = machine.job("sleep_cost.py", "--rounds", "3", "--gib", gib, "--real")
    lines = [" ".join(line.split()) for line in must(machine, job).out.splitlines()]
    is_model = "by the model's clock" in lines
    ratios = {}
    for line in lines:
        for figure, beside in re.findall(r"([\d.]+) of ([a-z ]+)", line):
            ratios[f"{line.split()[0]} beside {beside.strip()}"] = float(figure)
    wanted = ("pause beside copy out", "resume beside copy into new memory")
    if not all(ratios.get(name) for name in (*wanted, "resume beside copy in")):
        raise NothingShownError(f"it gave no figures: {'; '.join(lines)}")
    proved = (
        f"{gib} GiB slept and woke unchanged; of a pinned copy's rate pause reaches"
        f" {1 / ratios['pause beside copy out']:.2f}, resume"
        f" {1 / ratios['resume beside copy in']:.2f}"
    )
    if machine.is_rehearsal and not is_model:
        measured = "; ".join(lines)
        raise NothingShownError(f"{proved}; a simulated card says nothing of a link: {measured}")
    costs = Costs()
    for name in wanted:
        costs.hold(name, ratios[name], MOST_OVER_COPY, "times")
    return costs.judge(proved)


def offload(machine: Machine, _seen: Seen) -> str:
    held = machine.memory_bytes * 5 // 4 // MIB
    flags = ("--offload=auto", f"--limit={machine.memory_bytes}", "--no-trace")
    job = machine.job("oversubscribed.py", "--megabytes", str(held))
    ended, asked = pooled(machine, job, *flags)
    moved = judge_served(asked)["moved_out_bytes"] // MIB
    looked = sum(line.startswith("step ") for line in ended.out.splitlines())
    if moved == 0 or looked == 0:
        raise NothingShownError("nothing was moved to the host")
    limit = machine.memory_bytes // MIB
    counted = judge_mappings(ended.out, most_mappings())
    proved = f"{held} MiB held under {limit} MiB, {moved} MiB moved"
    return f"{proved}, every byte right {looked} times; {counted}"


def most_mappings() -> int:
    """Returns how many mappings the system permits for a process."""
    return int(MOST_MAPPINGS.read_text())


def judge_mappings(out: str, most: int) -> str:
    """Checks the number of mappings of the process. Host memory that the GPU can access may need
    one for each 2 MiB; moved memory may use at most half of the permitted number."""
    counted = re.search(r"^mappings (\d+) (\d+)$", out, re.MULTILINE)
    if counted is None:
        raise NothingShownError("the job did not count the mappings of its process")
    before, now = map(int, counted.groups())
    told = f"{now:,} of {most:,} mappings of the process, {before:,} before"
    if now - before > most // 2:
        raise FailedError(f"more than half of them: {told}")
    return told


def sleep(machine: Machine, _seen: Seen) -> str:
    job = machine.job("sleeping.py", "--sleep", "pause")
    ended, asked = pooled(machine, job, "--offload=explicit", "--no-trace")
    moved = judge_served(asked)["moved_out_bytes"] // MIB
    times = len(ended.out.splitlines())
    if moved == 0 or times == 0:
        raise NothingShownError("nothing slept")
    return f"slept {times} times, {moved} MiB in all, and was unchanged"


def short_runs(machine: Machine, _seen: Seen) -> str:
    program = "import torch; torch.zeros(1, device='cuda')"
    command = machine.under([machine.python, "-c", program], "--pool=on", "--no-trace")
    lanes = max(2, min(4, (os.cpu_count() or 1) // 2))
    with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
        try:
            ended = list(pool.map(machine.run, [command] * SHORT_RUNS))
        except BaseException as error:
            if not isinstance(error, Exception):
                machine.stop()  # otherwise the pool waits for its threads
            raise
    bad = [one.failure_reason for one in ended if one.failure_reason]
    if bad:
        raise FailedError(f"{len(bad)} of {SHORT_RUNS} runs failed, such as one that {bad[0]}")
    return f"{SHORT_RUNS} runs with status 0, {lanes} at a time"


def share(machine: Machine, seen: Seen) -> str:
    """Lets two processes use the GPU in turns, because their memory does not fit together."""
    if not machine.is_rehearsal:
        free = look(machine, seen)
        reason = sharing.why_not(seen.about["total_bytes"], free, sharing.free_host_bytes())
        if reason:
            raise NothingShownError(reason)
    processes = sharing.Turns(machine).run()
    seen.figures["share"] = processes
    return sharing.judge(processes)


def explain(machine: Machine, _seen: Seen) -> str:
    folder = machine.folder / "explained"
    folder.mkdir(exist_ok=True)
    job = machine.job("train_like_cpu.py", "SGD")
    must(machine, machine.under(job, f"--trace-dir={folder}", "--stacks=sites"))
    [trace] = folder.glob("*.stow")
    counts = json.loads(must(machine, machine.vramstow("analyze", "--json", str(trace))).out)
    allocations = counts["counts"]["allocations"]
    if allocations == 0:
        raise NothingShownError("the trace has no allocations")
    return f"{allocations} allocations in a trace of {trace.stat().st_size} bytes"


def touched(machine: Machine, _seen: Seen) -> str:
    """Checks whether the memory that operators use is recorded when they are launched."""
    folder = machine.folder / "touched"
    folder.mkdir(exist_ok=True)
    flags = ("--pool=on", "--offload=explicit,touches", f"--trace-dir={folder}")
    ended = must(machine, machine.under(machine.job("use_memory.py"), *flags))
    [trace] = folder.glob("*.stow")
    exported = must(machine, machine.vramstow("export", str(trace), "--to", "csv")).out
    machine.log.pop()  # drops many megabytes of events, which the trace has
    return touches.judge(touches.compare(last_json(ended.out), exported), machine.is_rehearsal)


@dataclass(frozen=True)
class Step:
    name: str
    goal: str
    seconds: float  # the limit for each of its commands
    most_seconds: float  # the limit for all its commands
    work: Callable[[Machine, Seen], str]


OVER_NATIVE = f"at most {MOST_OVER_NATIVE:g} times native's time"
STEPS = (
    Step("zeros", "torch.zeros is the pool's, vramstow_get_stats says so", 90, 90, zeros),
    Step("doctor", "everything works", 60, 60, doctor),
    Step("before", "one and a half times --memory is free", 60, 60, look_before),
    Step("native", "the same losses twice", 60, 120, train_native),
    Step(
        "pooled",
        f"the losses of native, the pool serves, its invariants hold; {OVER_NATIVE}",
        60,
        120,
        train_pooled,
    ),
    Step(
        "offload",
        "1.25 times the limit is held, every byte right, in at most half of the mappings",
        90,
        90,
        offload,
    ),
    Step("sleep", "what slept is unchanged", 60, 60, sleep),
    Step(
        "share",
        f"two processes of {sharing.PART:.0%} of the memory each have {sharing.TURNS} turns, every"
        " byte right",
        sharing.STEP_SECONDS,
        sharing.STEP_SECONDS,
        share,
    ),
    Step("observed", f"the losses of native, a trace; {OVER_NATIVE}", 60, 120, train_observed),
    Step("graphs", "the losses of native, the pool serves", 60, 90, graphs),
    Step(
        "larger",
        f"the losses of PyTorch's own hooks, at most {MOST_OVER_HOOKS:g} times their time",
        90,
        120,
        larger,
    ),
    Step("identity", "a look-up has the driver's own answer", 60, 60, identity),
    Step("explain", "a trace is written and read", 60, 60, explain),
    Step(
        "touched",
        "touches of the tensors that operators use are seen; differences are findings on a card",
        90,
        90,
        touched,
    ),
    Step("contract", "the driver does what the simulator does", 60, 150, contract),
    Step(
        "times",
        "what the driver's calls take, beside what clock=model assumes; differences are findings on"
        " a card",
        60,
        60,
        driver_times,
    ),
    Step(
        "sleep cost",
        f"at most {MOST_OVER_COPY:g} times as long as a copy, and into new memory",
        90,
        90,
        sleep_cost,
    ),
    Step(
        "tensor cost",
        "; ".join(f"{name} at most {goal:g} of native" for name, goal in MOST_OF_TENSOR.items())
        + f", ±{NOISE:g}",
        60,
        120,
        tensor_cost,
    ),
    Step("short runs", "all end with status 0", 60, 150, short_runs),
    Step("after", "the card is as it was found", 60, 60, look_after),
    Step("compiled", "the losses of native, observed and served by the pool", 120, 240, compiled),
)
