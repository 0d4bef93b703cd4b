"""A program that catches its out-of-memory error is not reported as ended by it, and the line that
limits PyTorch is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from built import run_program
from programs import MIB, run

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

FILL = """
import torch

def fill():
    kept = []
    while True:
        kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))

"""
CAUGHT = """
try:
    fill()
except torch.OutOfMemoryError:
    print("went on")
"""
LIMIT = 'torch.cuda.set_per_process_memory_fraction(0.25)\nprint("limited")\n'


# cublasCreate() gets no memory from the driver, although PyTorch has some in its cache.
LIBRARY = """
import torch

def fill():
    spare = torch.empty(120 << 20, dtype=torch.uint8, device="cuda")
    free = torch.cuda.mem_get_info()[0]
    kept = [torch.empty(5 << 20, device="cuda") for _ in range((free >> 20) // 20)]
    del spare
    return kept

def work():
    kept = fill()
    return kept[0][: 1 << 20].view(1024, 1024) @ kept[1][: 1 << 20].view(1024, 1024)

work()
"""


def test_a_program_that_catches_the_error_went_on(tmp_path: Path) -> None:
    status, summary, facts, screen = run(FILL + CAUGHT, tmp_path)
    assert status == 0
    assert "memory ran out 1 time, and the program continued and ended successfully" in summary
    assert facts["facts"]["process.exit_status"] == "0"
    assert "Memory ran out 1 time, and the program continued" in screen
    assert "The program ended successfully." in screen
    assert "program.py:7 fill" in screen


THREADS = """
import threading
workers = [threading.Thread(target=fill) for _ in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
"""


def test_threads_that_the_error_ended_are_told(tmp_path: Path) -> None:
    status, summary, facts, screen = run(FILL + THREADS, tmp_path)
    assert status == 0
    ended = "ended successfully, but OutOfMemoryError ended 2 of its threads"
    assert ended in " ".join(summary.split())
    assert facts["facts"]["program.threads_ended"] == "2"
    assert ended in " ".join(screen.split())


WORKER = """
import threading
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(100)]).cuda().eval()

def work():
    model(torch.ones(4096, 1024, device="cuda"))

with torch.no_grad():
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
"""


def test_the_grad_mode_of_another_thread_is_told(tmp_path: Path) -> None:
    _, _, facts, _ = run(WORKER, tmp_path, census="on", memory="2GiB")
    [advice] = [one for one in facts["advice"] if one["id"] == "needless_graph"]
    assert "because each thread has a grad mode of its own" in advice["action"]


def test_another_error_is_told_apart(tmp_path: Path) -> None:
    status, summary, facts, screen = run(FILL + CAUGHT + 'raise KeyError("later")', tmp_path)
    assert status == 1
    assert facts["facts"]["program.uncaught"] == "KeyError"
    assert "the program continued; KeyError ended it later" in " ".join(summary.split())
    assert "KeyError ended the program later, not the missing memory" in " ".join(screen.split())


def test_a_library_that_finds_no_memory_is_told(tmp_path: Path) -> None:
    status, summary, facts, screen = run(LIBRARY, tmp_path, census="on")
    assert status == 1
    assert "CUBLAS_STATUS_" in summary and "OutOfMemoryError" not in summary
    assert facts["facts"]["program.uncaught"] == "OutOfMemoryError"
    assert facts["out_of_memory"][-1]["library"].startswith("libcublas")
    ids = {advice["id"]: advice for advice in facts["advice"]}
    assert ids["library_shortage"]["place"] == "program.py:13 work"
    assert "create the handle of this thread at the start" in ids["library_shortage"]["action"]
    assert "returns too little here" in ids["library_shortage"]["action"]
    assert ids["library_shortage"]["fits"] is None
    # A census (reference scan) exists although PyTorch did not report the out-of-memory error.
    assert any("work: kept[" in one["holder"] for one in facts["out_of_memory"][-1]["holders"])
    assert "of free memory were missing" in " ".join(screen.split())


def test_the_handle_of_the_thread_of_autograd_is_another_one(tmp_path: Path) -> None:
    backward = LIBRARY.replace(
        "    kept = fill()\n    return",
        """    weight = torch.ones(1024, 1024, device="cuda", requires_grad=True)
    loss = (weight @ weight).sum()
    kept = fill()
    loss.backward()
    return""",
    )
    status, summary, facts, screen = run(backward, tmp_path)
    assert status == 1
    assert "CUBLAS_STATUS_" in summary
    (shortage,) = [advice for advice in facts["advice"] if advice["id"] == "library_shortage"]
    assert shortage["place"] == "program.py:15 work"
    assert "a small forward and backward pass" in shortage["action"]
    assert "64.0 MiB" in shortage["cost"]
    assert shortage["fits"] is None
    assert "of free memory were missing" in " ".join(screen.split())


# A library for similarity search. It calls cudaMalloc itself, and the program uses it together with
# PyTorch.
BESIDE = """
#include <dlfcn.h>
int build(unsigned long bytes, void** block) {
  int (*allocate)(void**, unsigned long) =
      (int (*)(void**, unsigned long))dlsym(RTLD_DEFAULT, "cudaMalloc");
  return allocate(block, bytes);
}
"""
USES_IT = """
import ctypes
import sys

import torch

live = torch.ones(50 << 18, device="cuda")
gone = [torch.empty(100 << 18, device="cuda") for _ in range(7)]
del gone
with open("/proc/self/maps") as maps:
    (runtime, *_) = [line.split()[-1] for line in maps if "libcudart" in line]
ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
beside = ctypes.CDLL(sys.argv[0].replace("program.py", "libbeside.so"))
block = ctypes.c_void_p()
failed = beside.build(ctypes.c_ulong(400 << 20), ctypes.byref(block))
if failed:
    torch.cuda.empty_cache()
    print("again:", beside.build(ctypes.c_ulong(400 << 20), ctypes.byref(block)))
sys.exit(3 if failed else 0)
"""


@pytest.mark.parametrize("expandable", [False, True])
def test_another_library_cannot_use_what_pytorch_caches(
    expandable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "beside.c"
    source.write_text(BESIDE)
    command = ["cc", "-shared", "-fPIC", "-o", tmp_path / "libbeside.so", source, "-ldl"]
    run_program(*command, check=True)
    if expandable:
        monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    status, _, facts, _ = run(USES_IT, tmp_path)
    assert status == 3
    failure = facts["out_of_memory"][-1]
    lacking = 400 * MIB - failure["free_bytes"]
    assert failure["demand"]["lacking_bytes"] == lacking
    assert lacking == (264 if expandable else 254) * MIB
    first = facts["advice"][0]
    assert (first["id"], first["place"]) == ("library_shortage", "program.py:15 <module>")
    assert first["bytes"] == 700 * MIB
    assert first["fits"] is True
    assert "libbeside.so" in first["title"]
    assert first["action"].startswith("Call torch.cuda.empty_cache() before this line")
    told = {advice["id"] for advice in facts["advice"]}
    assert told.isdisjoint({"out_of_memory_by_fragmentation", "fragmentation", "graph_pools"})


def test_an_error_that_was_raised_from_it_is_of_memory(tmp_path: Path) -> None:
    wrapped = CAUGHT.replace('    print("went on")', '    raise ValueError("no room") from None')
    status, summary, facts, screen = run(FILL.replace("\n\n", "\n" + LIMIT, 1) + wrapped, tmp_path)
    assert status == 1
    assert facts["facts"]["program.uncaught"] == "OutOfMemoryError"
    assert "went on" not in summary and "went on" not in screen
    # The advice says that the program limits its own memory.
    first = facts["advice"][0]
    assert first["id"] == "own_limit"
    assert first["place"] == "program.py:3 <module>"
