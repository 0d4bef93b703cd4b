"""Ends right after backward(), again and again, and prints the number of each exit status.

usage: ends_after_backward.py PROCESSES. Each is forked from one that has imported PyTorch and has
not used CUDA, and then runs to its end as any script does. All of its threads share one processor,
of which the autograd thread gets so little that it is still running when the script has ended.
"""

from __future__ import annotations

import collections
import os
import sys

import torch


def slow_down_autograd() -> None:
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as name:
            if name.read().startswith("pt_autograd_"):
                os.setpriority(os.PRIO_PROCESS, int(task), 19)


counts: collections.Counter[int] = collections.Counter()
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        break
    counts[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])] += 1
else:
    print(dict(counts), flush=True)
    os._exit(0)

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
x = torch.randn(64, 64, device="cuda", requires_grad=True)
(x @ x).sum().backward()
slow_down_autograd()
(x @ x).sum().backward()
sys.exit(7)
