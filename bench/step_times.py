"""Compares the step times of vramstow plan with published ones for the same settings.

python bench/step_times.py [NAME…]

It prints one line for each training, and how many pairs of trainings are in the right order. Each
takes a simulated run of a few seconds to minutes; NAME selects those whose name begins with it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VRAMSTOW = ROOT / "build/bin/vramstow"
PROGRAM = ROOT / "bench/step_time_model.py"

SIZES = {
    "125m": "--width 768 --heads 12 --layers 12",
    "760m": "--width 1536 --heads 12 --layers 24",
    "1b": "--width 2048 --heads 16 --layers 24",
    "3b": "--width 2560 --heads 20 --layers 32",
    "7b": "--width 4096 --heads 32 --layers 32",
    "13b": "--width 5120 --heads 40 --layers 40",
    "30b": "--width 7168 --heads 56 --layers 48",
}
LLAMA2 = "--kind llama --width 5120 --heads 40 --key-heads 40 --layers 40 --hidden 13824"
LLAMA3 = "--kind llama --width 4096 --heads 32 --key-heads 8 --layers 32 --hidden 14336"


@dataclass(frozen=True)
class Published:
    name: str
    card: str
    arguments: str
    tokens_per_second: float  # for each GPU
    source: str


def mpt(
    size: str, length: int, batch: int, h100: int, a100: int, how: str = "none"
) -> list[Published]:
    """A row from mosaicml/llm-foundry, scripts/train/benchmarking/README.md: 8 GPUs, from 3b on 16
    H100."""
    name = f"mpt-{size} {length}x{batch}" + (" checkpoints" if how == "full" else "")
    arguments = f"--kind mpt {SIZES[size]} --length {length} --batch {batch} --checkpoint {how}"
    source = "llm-foundry's MPT benchmarks"
    return [
        Published(name, card, arguments, speed, source)
        for card, speed in (("h100", h100), ("a100", a100))
        if speed
    ]


PUBLISHED = [
    # The shares of a GPU's peak rates in card_rates.cc are fitted to these rows.
    *mpt("125m", 2048, 32, 0, 141737),
    *mpt("760m", 2048, 24, 63147, 32434),
    *mpt("1b", 2048, 14, 45455, 20513),
    *mpt("1b", 8192, 3, 29157, 13814),
    *mpt("1b", 32768, 1, 12025, 6275),
    *mpt("3b", 2048, 10, 24142, 10811),
    *mpt("7b", 2048, 6, 10643, 4641),
    *mpt("7b", 4096, 16, 8611, 3684, "full"),
    # No share in card_rates.cc is fitted to the following rows, so they show how good the model is.
    *mpt("13b", 2048, 2, 4792, 2262),
    *mpt("30b", 2048, 3, 2002, 916, "full"),
    Published(
        "llama2-13b 4096x2",
        "a100",
        f"{LLAMA2} --words 32000 --length 4096 --batch 2",
        2162,
        "torchtitan's docs/performance.md, 64 cards",
    ),
    Published(
        "llama3-8b 8192x2 operators",
        "h100",
        f"{LLAMA3} --words 128256 --length 8192 --batch 2 --checkpoint operators",
        5762,
        "torchtitan's benchmarks of December 2024, 8 cards of 500 W and 2.4 TB/s",
    ),
    Published(
        "llama3-8b 8192x1 operators",
        "a100",
        f"{LLAMA3} --words 128256 --length 8192 --batch 1 --checkpoint operators",
        2973,
        "torchtitan's docs/performance.md, 64 cards",
    ),
    Published(
        "gpt2-124m 1024x12",
        "a100-40gb",
        "--kind gpt2 --words 50257 --length 1024 --batch 12",
        12 * 1024 / 0.250,
        "nanoGPT's README, without torch.compile, A100 of 40 GB",
    ),
]


def estimated(one: Published) -> float:
    """Returns the tokens a second of one GPU."""
    command = [VRAMSTOW, "plan", "--json", f"--cards={one.card},memory=1TiB", "--batch"]
    words = one.arguments.split()
    place = words.index("--batch") + 1
    batch, words[place] = words[place], "{batch}"
    done = subprocess.run(
        [*command, batch, "--", sys.executable, PROGRAM, *words],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout)["rows"][0]["tokens_per_second"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only trainings whose name begins with it"
    )
    names = parser.parse_args().names
    for name in names:
        if not any(one.name.startswith(name) for one in PUBLISHED):
            parser.error(f"no training has a name that begins with '{name}'")
    found: list[tuple[Published, float]] = []
    for one in PUBLISHED:
        if names and not any(one.name.startswith(name) for name in names):
            continue
        speed = estimated(one)
        found.append((one, speed))
        print(
            f"{one.card:5} {one.name:30} {one.tokens_per_second:8.0f} {speed:8.0f} "
            f"{speed / one.tokens_per_second - 1:+5.0%}  {one.source}",
            flush=True,
        )
    pairs = [
        ((a[0].tokens_per_second < b[0].tokens_per_second) == (a[1] < b[1]))
        for a, b in combinations(found, 2)
    ]
    print(f"pairs in the right order: {sum(pairs)} of {len(pairs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
