"""Ends during a census. argv: `return`, while vramstow ctl requests censuses all the time, or
`exit`, at once, while threads run out of memory.

(PyTorch itself aborts if a daemon thread returns from it while Python ends.)
"""

import atexit
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import torch

SIZE = 2 * 1024 * 1024
kept = [torch.empty(SIZE, device="cuda") for _ in range(4)]
beside = [[[number]] for number in range(200_000)]


def fail() -> None:
    while True:
        try:
            torch.empty(512 * SIZE, device="cuda")
        except torch.OutOfMemoryError:
            began.set()


if sys.argv[1] == "return":
    ask = f"while {os.environ['VRAMSTOW_PROGRAM']} ctl {os.getpid()} census; do :; done"
    asking = subprocess.Popen(["sh", "-c", f"{ask} >asked 2>&1"])
    asked = Path("asked")
    while not asked.exists() or "found" not in asked.read_text():
        time.sleep(0.05)
    atexit.register(lambda: print("at exit", flush=True))
else:
    began = threading.Event()
    for _ in range(3):
        threading.Thread(target=fail, daemon=True).start()
    began.wait()
    time.sleep(0.1)
    print("at exit", flush=True)
    os._exit(0)
