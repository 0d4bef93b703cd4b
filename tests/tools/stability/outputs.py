"""Makes one output of each command that has a schema in docs/schemas, on simulated GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from built import ROOT, VRAMSTOW, run_program, run_vramstow
from installation import CUDA_BEGINS, analyze, write

CARD = "--simulate=h100,memory=4GiB"
# The job allocates 1 GiB, and 100 MiB for each unit of the batch.
JOB = f"""{CUDA_BEGINS}
for size in [1 << 30] + [100 << 20] * int(sys.argv[1]):
    if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) != 0:
        sys.exit(1)
"""
WAITING = f"""{CUDA_BEGINS}
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20)) == 0
print("ready", flush=True)
sys.stdin.read()
"""
USING = """
import torch
x = [torch.ones(4 << 20, device="cuda") for _ in range(5)]
for _ in range(3):
    for one in x:
        one.add_(1)
"""
PYTORCH_JOB = """
import sys, torch
torch.cuda.memory._record_memory_history()
x = torch.zeros(1 << 20, device="cuda")
for _ in range(10):
    y = torch.cat([x, x])
    x.sum()
if len(sys.argv) > 1:
    torch.cuda.memory._dump_snapshot(sys.argv[1])
"""
PATIENCE = 300  # seconds, on a busy machine


def answer(
    command: str, *arguments: object, status: int = 0, env: dict[str, str] | None = None
) -> dict[str, Any]:
    """Returns the output of a command, which is one line of JSON."""
    result = run_vramstow(command, *arguments, env=env, timeout=PATIENCE)
    assert result.returncode == status, result.stdout + result.stderr
    assert result.stdout.count("\n") == 1, result.stdout
    return json.loads(result.stdout)


def job(folder: Path) -> list[object]:
    file = folder / "job.py"
    file.write_text(JOB)
    return ["--", sys.executable, file]


def analysis(folder: Path) -> dict[str, Any]:
    return json.loads(analyze("--json", write(folder)).stdout)


def check(folder: Path) -> dict[str, Any]:
    expressions = ("--assert=peak_allocated <= 1B", "--assert=out_of_memory >= 0")
    return answer("check", write(folder), "--json", *expressions, status=1)


def diff(folder: Path) -> dict[str, Any]:
    return answer("diff", write(folder), write(folder, "many"), "--to", "json")


def replay(folder: Path) -> dict[str, Any]:
    return answer("replay", write(folder, "many"), "--json")


def searching_replay(folder: Path) -> dict[str, Any]:
    """Returns the replay of a recording with uses of memory, which models with offload need."""
    flags = (
        f"{CARD},values=off",
        "--pool=on",
        "--offload=explicit,touches",
        f"--trace-dir={folder}",
    )
    command = (VRAMSTOW, "run", *flags, "--", sys.executable, "-c", USING)
    run_program(*command, check=True, timeout=PATIENCE)
    [trace] = folder.glob("*.stow")
    models = ("--memory=64MiB", "--models=native,expandable,offload")
    return answer("replay", trace, *models, "--search", "--json")


def doctor(folder: Path) -> dict[str, Any]:
    variables = {"XDG_CACHE_HOME": folder / "cache", "XDG_RUNTIME_DIR": folder}
    flags = ("--json", "--simulate=h200", "--need=trace,pool")
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    result = run_vramstow("doctor", *flags, env=environment, timeout=PATIENCE)
    return json.loads(result.stdout)


def plan(folder: Path) -> dict[str, Any]:
    return answer(
        "plan", "--cards", CARD.partition("=")[2], "--batch", "8,24,64", "--json",
        *job(folder), "{batch}",
    )  # fmt: skip


def fit(folder: Path) -> dict[str, Any]:
    return answer("fit", CARD, "--from=16", "--to=18", "--json", *job(folder), "{batch}")


def estimate(folder: Path) -> dict[str, Any]:
    return answer("fit", "--once", f"{CARD},t4,memory=1GiB", "--json", *job(folder), "4")


def share(_folder: Path) -> dict[str, Any]:
    program = ROOT / "tests/jobs/programs/shares.py"
    jobs = [f"{sys.executable} {program} 40 2 {seed}" for seed in (1, 2)]
    return answer("share", "--simulate=h100,memory=128MiB,context=16MiB", "--json", "--", *jobs)


def failing_share(_folder: Path) -> dict[str, Any]:
    card = "--simulate=h100,memory=128MiB,context=16MiB"
    return answer("share", card, "--json", "--", "echo bad; exit 7", "true", status=1)


def top(folder: Path) -> dict[str, Any]:
    write(folder)
    return answer("top", folder, "--json")


def beside_a_sharing_process(folder: Path, *command: str) -> dict[str, Any]:
    """Returns the output of a command while a process has a pool and shares its simulated GPU.

    PID in the command stands for its process id.
    """
    flags = ("--simulate=h100,memory=4GiB", "--pool=on", "--share", "--quiet")
    flags += (f"--trace-dir={folder}", f"--control-dir={folder}")
    # The table of the processes that share, which `vramstow top` reads, is in this folder.
    environment = os.environ | {"XDG_RUNTIME_DIR": str(folder)}
    process = subprocess.Popen(
        [VRAMSTOW, "run", *flags, "--", sys.executable, "-c", WAITING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        [socket] = folder.glob("*.sock")
        words = [word.replace("PID", socket.stem) for word in command]
        return answer(words[0], *words[1:], env=environment)
    finally:
        process.stdin.close()
        process.wait(timeout=PATIENCE)


def stats(folder: Path) -> dict[str, Any]:
    return beside_a_sharing_process(
        folder, "ctl", "--json", "PID", "stats", f"--control-dir={folder}"
    )


def top_of_a_sharing_process(folder: Path) -> dict[str, Any]:
    told = beside_a_sharing_process(folder, "top", "PID", "--json")
    assert told["sharing"], "the process is not in the table"
    return told


def fidelity(folder: Path) -> dict[str, Any]:
    program, recording = folder / "job.py", folder / "recording.pickle"
    program.write_text(PYTORCH_JOB)
    command = (sys.executable, program)
    card = "--simulate=a100,values=off"
    run_program(
        *(VRAMSTOW, "run", "--no-trace", card, "--", *command, recording),
        check=True,
        timeout=PATIENCE,
    )
    # Another number of multiprocessors leads to parts that differ.
    return answer("fidelity", recording, "--simulate=t4,values=off", "--json", "--", *command)


# By the name of the schema.
OUTPUTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "vramstow.analysis": analysis,
    "vramstow.check": check,
    "vramstow.diff": diff,
    "vramstow.doctor": doctor,
    "vramstow.estimate": estimate,
    "vramstow.fidelity": fidelity,
    "vramstow.fit": fit,
    "vramstow.plan": plan,
    "vramstow.replay": replay,
    "vramstow.share": share,
    "vramstow.stats": stats,
    "vramstow.top": top,
}
NEED_PYTORCH = (fidelity, searching_replay)
# Outputs that have keys, or values other than null, that the first ones lack.
OTHERS: list[tuple[str, Callable[[Path], dict[str, Any]]]] = [
    ("vramstow.replay", searching_replay),
    ("vramstow.share", failing_share),
    ("vramstow.top", top_of_a_sharing_process),
]
