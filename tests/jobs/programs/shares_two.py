"""Runs shares.py on two GPUs at once, one process on each, which wait for one another.

shares_two.py MIB ROUNDS SEED. After each round a process waits until the other one has ended the
same round, as the ranks of one job do. The status is that of the process that ended worst.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("shares.py")


def main() -> int:
    total, rounds, seed = sys.argv[1:4]
    ranks = [
        subprocess.Popen(
            [sys.executable, PROGRAM, total, "1000000", f"{seed}{device}", "0", str(device)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for device in range(2)
    ]
    for number in range(int(rounds)):
        for rank in ranks:
            assert rank.stdout is not None and rank.stdin is not None
            line = rank.stdout.readline()
            if not line.startswith("round"):
                print(line or "a process has ended", flush=True)
                for other in ranks:
                    other.kill()
                return max(1, *(other.wait() for other in ranks))
        print("round", number, flush=True)
        word = "go\n" if number + 1 < int(rounds) else "end\n"
        for rank in ranks:
            assert rank.stdin is not None
            rank.stdin.write(word)
            rank.stdin.flush()
    said = [rank.communicate()[0] for rank in ranks]
    print(*said, flush=True)
    return max(rank.returncode for rank in ranks)


if __name__ == "__main__":
    raise SystemExit(main())
