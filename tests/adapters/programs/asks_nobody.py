"""Allocates from many threads and places, while asks_nobody.cc counts what the callbacks ask for.

Prints how often the heap or the dynamic linker was asked from within the observer.
"""

import ctypes
import importlib
import threading

import torch


def allocate(depth: int, count: int) -> list[torch.Tensor]:
    """Allocates with a different call stack for each depth."""
    if depth > 0:
        return allocate(depth - 1, count)
    return [torch.empty(1000, dtype=torch.uint8, device="cuda") for _ in range(count)]


def main() -> None:
    torch.empty(1, device="cuda")
    watcher = ctypes.CDLL(None)
    watcher.watch_library.argtypes = [ctypes.c_char_p] * 3
    found = watcher.watch_library(b"torch-observer-", b"libc10_cuda.so", b"libc10.so")
    assert found == 1, "the observer is not loaded"
    kept: list[list[torch.Tensor]] = [[] for _ in range(8)]

    def work(thread: int) -> None:
        kept[thread] += allocate(thread, 800)
        kept[thread] += allocate(thread + 20, 200)
        del kept[thread][::3]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    importlib.import_module("sqlite3")  # loads a library that is in no stack yet
    work(3)
    model = torch.nn.Linear(64, 64, device="cuda")
    model(torch.ones(8, 64, device="cuda")).sum().backward()
    kept.clear()
    torch.cuda.empty_cache()
    print(watcher.counted_calls())


if __name__ == "__main__":
    main()
