"""Holds a part of the GPU's memory, and checks and rewrites every byte of it again and again.

Another process does the same at the same time, and the memory of both does not fit together. The
bytes are compared on the GPU, piece by piece. Each word has a value of its own, so that memory that
returned to another place is noticed. Between two rounds the program does nothing for a moment, in
which its turn ends. It ends when the file --until exists, or after --seconds. It prints its figures
as JSON in its last line, and ends with status 3 if a byte was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch

MIB = 1 << 20
MOST_PIECE = 256 * MIB
LEAST_PIECES = 16
IDLE_SECONDS = 1.2  # longer than any time after which a process counts as idle


class Pieces:
    """The memory, and the number from which the contents of all words follow."""

    def __init__(self, held: int, seed: int) -> None:
        size = min(MOST_PIECE, held // LEAST_PIECES) // (2 * MIB) * (2 * MIB)
        self.size = max(size, 2 * MIB)
        self.seed = seed
        self.counted = torch.arange(self.size // 4, dtype=torch.int32, device="cuda")
        self.buffer = torch.empty_like(self.counted)
        self.pieces = [torch.empty_like(self.counted) for _ in range(-(-held // self.size))]

    def wanted(self, number: int) -> torch.Tensor:
        """Returns the contents of a piece, in memory that the next call uses again."""
        torch.mul(self.counted, 5, out=self.buffer)
        return self.buffer.add_(self.seed * 1009 + number * 8191)

    def fill(self, number: int) -> None:
        self.pieces[number].copy_(self.wanted(number))

    def wrong_bytes(self, number: int) -> int:
        wanted = self.wanted(number)
        if torch.equal(self.pieces[number], wanted):
            return 0
        seen = self.pieces[number].cpu().view(torch.uint8)
        return int((seen != wanted.cpu().view(torch.uint8)).sum())

    def check_and_rewrite(self) -> int:
        """Returns how many bytes of all pieces were wrong; the pieces get other contents."""
        wrong = sum(self.wrong_bytes(number) for number in range(len(self.pieces)))
        self.seed += 1
        for number in range(len(self.pieces)):
            self.fill(number)
        return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", type=float, default=0.6, help="of the GPU's memory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--until", type=Path, required=True, help="the file that ends it")
    parser.add_argument("--seconds", type=float, default=150, help="after which it ends anyway")
    options = parser.parse_args()
    begin = time.monotonic()
    _, total = torch.cuda.mem_get_info()
    pieces = Pieces(int(total * options.part), options.seed * 100_000)
    for number in range(len(pieces.pieces)):
        pieces.fill(number)
    rounds, wrong = 0, 0
    while True:
        wrong += pieces.check_and_rewrite()
        rounds += 1
        time.sleep(IDLE_SECONDS)
        if options.until.exists() or time.monotonic() - begin >= options.seconds:
            break
    wrong += pieces.check_and_rewrite()
    held = len(pieces.pieces) * pieces.size
    figures = {"rounds": rounds + 1, "held_bytes": held, "total_bytes": total, "wrong_bytes": wrong}
    print(json.dumps(figures), flush=True)
    return 3 if wrong else 0


sys.exit(main())
