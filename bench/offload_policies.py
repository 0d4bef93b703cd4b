"""Compares how much the policies of --offload read and move: the examples' jobs, replayed on
smaller devices.

Usage: offload_policies.py [--steps N] [BUILD]. Each job is recorded once in a simulated run with
enough memory (--offload=explicit,touches) and then replayed with 90, 75 and 60% of its allocated
peak. For each policy it prints the time on the link (moves, and accesses of work to the host, at 24
GiB/s) as a ratio to the policy coldest, and the sums.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
JOBS = {
    "transformer": ["transformer.py", "--workers", "0"],
    "lstm": ["lstm.py"],
    "convnet": ["convnet.py"],
    "attention": ["attention.py"],
    "mlp": ["mlp.py"],
}
PARTS = (0.9, 0.75, 0.6)


def record(build: Path, script: list[str], steps: int, folder: str) -> Path:
    command = [
        *(build / "bin/vramstow", "run", "--simulate=h200,effects=off", "--pool=on"),
        *("--level=tensors", "--offload=explicit,touches", f"--trace-dir={folder}", "--"),
        *(sys.executable, ROOT / "examples" / script[0], *script[1:], "--steps", str(steps)),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return max(Path(folder).glob("*.stow"), key=lambda path: path.stat().st_size)


def replay(build: Path, trace: Path, models: str, *more: str) -> dict:
    command = [build / "bin/vramstow", "replay", trace, "--models", models, "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build", metavar="BUILD")
    parser.add_argument("--steps", type=int, default=12)
    options = parser.parse_args()
    sums: dict[str, int] = {}
    for name, script in JOBS.items():
        with tempfile.TemporaryDirectory() as folder:
            trace = record(options.build, script, options.steps, folder)
            load = replay(options.build, trace, "vramstow")["bounds"]["maximum_load_bytes"]
            for part in PARTS:
                memory = f"{int(load * part)}"
                models = replay(options.build, trace, "offload", "--memory", memory)["models"]
                if any(model["out_of_memory"] for model in models):
                    print(f"{name} {part:.0%} of {load >> 20} MiB: what works at once does not fit")
                    continue
                took = {model["name"]: model["offload"]["link_ns"] for model in models}
                for policy, nanoseconds in took.items():
                    sums[policy] = sums.get(policy, 0) + nanoseconds
                coldest = max(took["offload:coldest"], 1)
                ratios = ", ".join(f"{p[8:]} {ns / coldest:.2f}" for p, ns in took.items())
                where = f"{name} {part:.0%} of {load >> 20} MiB"
                print(f"{where}: coldest {coldest / 1e6:.1f} ms; {ratios}")
    for policy, nanoseconds in sums.items():
        print(f"all: {policy[8:]} {nanoseconds / 1e6:.0f} ms")


if __name__ == "__main__":
    main()
