"""Measures what it costs to pause and to resume a region, compared with plain copies.

python bench/sleep_cost.py --gib 1 --rounds 5

One process alternates: a copy to page-locked memory and vramstow.pause; a copy back, a copy back
into newly allocated device memory, as resume needs it, and vramstow.resume. The fastest round of
each counts. In a simulated run this machine's processor makes the copies, and memory that is new to
the device is also new to the machine, which takes longer than the copy; --real runs it on a real
GPU. If the simulated GPU has the model's clock, that clock is used, and the first line says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))

BLOCK = 32 << 20  # bytes of each tensor

PROGRAM = """
import ctypes, json, sys, time, torch, vramstow
blocks, block_bytes, rounds = map(int, sys.argv[1:])
with vramstow.region('weights'):
    weights = [torch.empty(block_bytes, dtype=torch.uint8, device='cuda') for _ in range(blocks)]
for number, weight in enumerate(weights):
    weight.fill_(number % 251)
kept = [torch.empty(weight.shape, dtype=torch.uint8, pin_memory=True) for weight in weights]
card = ctypes.CDLL('libcuda.so.1')
is_model = hasattr(card, 'vramstowSimulatorReadModelClock') and (
    card.vramstowSimulatorReadModelClock(ctypes.create_string_buffer(256), ctypes.c_size_t(256))
    == 0)
if is_model:
    card.vramstowSimulatorTime.restype = ctypes.c_uint64
def now():
    return card.vramstowSimulatorTime() / 1e9 if is_model else time.perf_counter()
best = {}
def take(name, work):
    torch.cuda.synchronize()
    begin = now()
    work()
    torch.cuda.synchronize()
    spent = now() - begin
    best[name] = min(best.get(name, spent), spent)
def out():
    for to, weight in zip(kept, weights):
        to.copy_(weight, non_blocking=True)
def back():
    for weight, to in zip(weights, kept):
        weight.copy_(to, non_blocking=True)
def moved(done):
    if not done:
        sys.exit('the region did not move: is vramstow there?')
def anew():
    fresh = [torch.empty_like(to, device='cuda') for to in kept]
    for to, weight in zip(fresh, kept):
        to.copy_(weight, non_blocking=True)
for _ in range(rounds):
    take('copy out', out)
    take('pause', lambda: moved(vramstow.pause('weights')))
    vramstow.empty_cache()
    take('copy into new memory', anew)
    vramstow.empty_cache()
    take('resume', lambda: moved(vramstow.resume('weights')))
    take('copy in', back)
if any(int(weight[-1]) != number % 251 for number, weight in enumerate(weights)):
    sys.exit('a region came back with other values')
print(json.dumps(best | {'model': is_model}))
"""

COMPARED = {"pause": ("copy out",), "resume": ("copy in", "copy into new memory")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--gib", type=float, default=1, help="what sleeps, rounded to blocks of 32 MiB; default 1"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--real", action="store_true", help="on the GPU that is here, not in a simulated run"
    )
    given = parser.parse_args()
    if given.gib <= 0 or given.rounds < 1:
        parser.error("--gib must be more than 0, and --rounds at least 1")
    blocks = max(1, round(given.gib * 2**30 / BLOCK))
    size = blocks * BLOCK
    command = [BUILD / "bin/vramstow", "run", "--no-trace", "--pool=on"]
    command.append(f"--offload=explicit,host={size + 2**28}")
    if not given.real:
        command.append(f"--simulate=h200,memory={size + 2**30},effects=on,allowance=64GiB")
    program = [sys.executable, "-c", PROGRAM, str(blocks), str(BLOCK), str(given.rounds)]
    paths = [str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [*command, "--", *program], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:] or f"it ended with status {done.returncode}")
    best = json.loads(done.stdout.splitlines()[-1])
    if best.pop("model"):
        print("by the model's clock")
    for name, plains in COMPARED.items():
        rate = size / best[name] / 2**30
        ratios = ", ".join(f"{best[name] / best[plain]:.2f} of {plain}" for plain in plains)
        print(f"{name:8}{best[name] * 1000:9.1f} ms {rate:7.2f} GiB/s  {ratios}")


if __name__ == "__main__":
    main()
