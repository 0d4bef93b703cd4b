"""A PyTorch process that forks one child, just before and just after which it waits.

The main thread waits within fork() for a byte in its pipe `go`, twice: before the child exists, and
after that in the parent. The child runs Python meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

import torch

kept = torch.ones(1 << 18, device="cuda")
os.mkfifo("go")
os.dup2(os.open("go", os.O_RDWR), 0)
libc = ctypes.CDLL(None)
waits = ctypes.cast(libc.getchar, ctypes.c_void_p)
# This is pthread_atfork, which is not in the shared library itself.
libc["__register_atfork"](waits, waits, None, None)
print("ready", flush=True)
if os.fork() == 0:
    for _ in range(100):
        time.sleep(0.01)
    print("child", flush=True)
    os._exit(0)
os.wait()
while not Path("end").exists():
    time.sleep(0.02)
