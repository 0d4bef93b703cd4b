"""Compares estimates of a job's peak by other tools with that of a simulated run and of a real GPU.

python bench/estimators.py [--python PYTHON]

The jobs are those of tests/jobs/real_cards_test.py, which also ran on real GPUs and left snapshots
in the corpus. The other estimates are: PyTorch's MemTracker on tensors without memory (in a
simulated run, because it needs a device for a backward pass), accelerate's estimate of a model,
which is four times its parameters for training with Adam, and torchinfo's total, from a forward
pass on the CPU. They need the packages torchinfo, accelerate and psutil. --python is the Python of
the simulated run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
CORPUS = Path(os.environ.get("VRAMSTOW_CORPUS", ROOT.parent / "shared/corpus"))
PROGRAM = BUILD / "bin/vramstow"
# Each row has the name of a snapshot, the script that made it, and the script's arguments.
JOBS = (
    ("lm-small-forward-fp32", "small_decoder.py", ("full",)),
    ("lm-small-forward-bf16", "small_decoder.py", ("autocast",)),
    ("lm-medium-ctx128-training", "medium_decoder.py", ("128", "training")),
    ("lm-medium-ctx512-training", "medium_decoder.py", ("512", "autocast")),
    ("lm-medium-ctx1024-inference", "medium_decoder.py", ("1024", "forward")),
)
OTHERS = ("tracked", "by parameters", "by layers")


def load(script: Path, arguments: list[str]) -> ModuleType:
    sys.argv = [str(script), *arguments]
    spec = importlib.util.spec_from_file_location("job", script)
    assert spec is not None and spec.loader is not None
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    return job


def tracked(job: ModuleType) -> int:
    """The tracker refuses a module moved between devices, and one called twice."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    tracker = MemTracker()
    torch.nn.Module.cuda = lambda self: self
    torch.cuda.memory._record_memory_history = tracker.reset_mod_stats
    with FakeTensorMode(), torch.device("cuda"), tracker:
        job.main()
    (peak,) = tracker.get_tracker_snapshot("peak").values()
    return peak["Total"]


def by_parameters(job: ModuleType) -> int:
    from accelerate.utils import calculate_maximum_sizes

    total, _ = calculate_maximum_sizes(job.Decoder())
    return total * 4 if {"training", "autocast"} & set(sys.argv[2:]) else total


def by_layers(job: ModuleType) -> int:
    import torch
    import torchinfo

    text = torch.zeros(job.BATCH, job.CONTEXT, dtype=torch.long)
    told = torchinfo.summary(job.Decoder(), input_data=text, device="cpu", verbose=0)
    return told.total_input + told.total_output_bytes + told.total_param_bytes


def estimate(way: str, script: Path, arguments: tuple[str, ...]) -> tuple[int, float]:
    """Returns bytes and seconds, measured in a separate process."""
    command = [sys.executable, __file__, "--one", way, script, *arguments]
    if way == "tracked":
        options = ("--no-trace", "--simulate=a100,values=off")
        command = [PROGRAM, "run", *options, "--", *command]
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout.split()[-1]), time.monotonic() - begin


def rehearse(
    python: str, real: Path, script: Path, arguments: tuple[str, ...]
) -> tuple[int, int, float]:
    """Returns the real GPU's peak, the simulated run's peak, and the simulated run's seconds."""
    flags = ("--simulate=a100,values=off", "--json", "--no-tries")
    command = (PROGRAM, "fidelity", real, *flags, "--", python, script, *arguments)
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(done.stdout)
    return told["card_peak_bytes"], told["rehearsed_peak_bytes"], time.monotonic() - begin


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        way, script, *arguments = sys.argv[2:]
        ways = dict(zip(OTHERS, (tracked, by_parameters, by_layers), strict=True))
        print(ways[way](load(Path(script), arguments)))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="rehearses the jobs")
    chosen = parser.parse_args()
    print("| job | card, MiB | rehearsed | " + " | ".join(OTHERS) + " |")
    for snapshot, name, arguments in JOBS:
        script = ROOT / "tests/jobs/programs" / name
        real = CORPUS / f"{snapshot}.pickle"
        card, ours, seconds = rehearse(chosen.python, real, script, arguments)
        cells = [(ours, seconds), *(estimate(way, script, arguments) for way in OTHERS)]
        told = [f"{(size / card - 1) * 100:+.1f}%, {spent:.0f} s" for size, spent in cells]
        print(f"| {snapshot} | {card >> 20:,} | {' | '.join(told)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
