"""A training loop in many states: a failure, a collection, an import, a thread, a fork.

It stops after the number of steps in its argument, or, if that is 0, when its file `stop` exists.
It prints a digest of all losses, which no observer may change. If the argument is 0, it then waits
for its file `end`.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import os
import sys
import threading
import time
import warnings
from pathlib import Path

import torch


class Node:
    """A part of a dead cycle that holds a tensor."""

    me: Node
    tensor: torch.Tensor


def enter_state(number: int) -> None:
    state = number % 7
    if state == 1:
        node = Node()
        node.me = node
        node.tensor = torch.ones(8, device="cuda")
        del node
        gc.collect()
    elif state == 2:
        with contextlib.suppress(torch.OutOfMemoryError):
            torch.empty(1 << 50, device="cuda")
    elif state == 3:
        sys.modules.pop("xml.dom.minidom", None)
        importlib.import_module("xml.dom.minidom")
    elif state == 4:
        thread = threading.Thread(target=lambda: torch.ones(1024, device="cuda").sum().item())
        thread.start()
        thread.join()
    elif state == 5:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    elif state == 6:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def main(steps: int) -> None:
    # Python 3.12 and newer warn of a fork while other threads run, which this program does on
    # purpose.
    warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
    torch.manual_seed(0)
    layers = torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    digest = hashlib.sha256()
    step = 0
    print("ready", flush=True)
    while step < steps if steps else not Path("stop").exists():
        batch = torch.full((16, 32), (step % 13) / 13, device="cuda")
        loss = (model(batch) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        digest.update(str(loss.item()).encode())
        enter_state(step)
        step += 1
    print(step, digest.hexdigest(), torch.cuda.memory_allocated(), flush=True)
    while steps == 0 and not Path("end").exists():
        time.sleep(0.02)


main(int(sys.argv[1]))
