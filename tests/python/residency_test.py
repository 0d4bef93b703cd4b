"""Tests regions, offload, pause and resume, from a program, from outside, and with a second
process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from built import VRAMSTOW, run_program
from conftest import Ran, package_environment

Run = Callable[..., Ran]
EXPLICIT = ("--pool=on", "--offload=explicit,host=1GiB", "--check")


def said(done: Ran) -> list[str]:
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def test_without_vramstow_the_program_goes_on_as_it_is(run: Run) -> None:
    program = """
import vramstow
with vramstow.region("weights"):
    pass
assert not vramstow.offload("weights") and not vramstow.pause("weights")
assert not vramstow.resume("weights") and not vramstow.offload()
"""
    said(run(program, plain=True))


@pytest.mark.parametrize("pool", ["on", "off"])
def test_without_offload_nothing_moves_and_nothing_fails(run: Run, pool: str) -> None:
    program = """
import device, vramstow
with vramstow.region("weights"):
    kept = device.allocate(8 * device.MIB)
assert not vramstow.offload("weights") and not vramstow.pause("weights", keep=False)
assert not vramstow.resume() and not vramstow.resume("weights")
"""
    said(run(program, f"--pool={pool}"))


def test_a_region_sleeps_and_wakes_as_it_was(run: Run) -> None:
    program = """
import device, vramstow
from device import MIB
with vramstow.region("weights"):
    weights = [device.allocate(10 * MIB) for _ in range(8)]
    small = device.allocate(1000)
for number, address in enumerate([*weights, small]):
    device.write(address, number + 100)
other = device.allocate(10 * MIB)
device.write(other, 7)
before = device.free_bytes()
for sleep in (vramstow.pause, vramstow.offload):
    assert sleep("weights")
    stats = vramstow.stats()
    assert stats.offloaded_bytes == 82 * MIB, stats
    assert stats.paused_bytes == (82 * MIB if sleep is vramstow.pause else 0), stats
    assert device.free_bytes() == before + 82 * MIB
    assert device.read(other) == 7
    if sleep is vramstow.offload:
        assert device.read(weights[3]) == 103, "offloaded memory can still be used"
    large = device.allocate(60 * MIB)
    device.free(large)
    assert vramstow.resume("weights")
    assert [device.read(address) for address in [*weights, small]] == list(range(100, 109))
    assert vramstow.stats().offloaded_bytes == 0
assert vramstow.stats().moved_out_bytes == vramstow.stats().moved_back_bytes == 164 * MIB
"""
    said(run(program, *EXPLICIT, card="h200,memory=1GiB"))


def test_what_a_graph_uses_is_paused_where_no_graph_is_launched(run: Run) -> None:
    program = """
import device, vramstow
from device import MIB
with vramstow.region("graph"):
    block = device.allocate(64 * MIB)
    graph = device.FillGraph(block, 16 * MIB, 3)
def word() -> int:
    return device.read(block + 40 * MIB)
assert graph.launch() == 0 and word() == 3 << 32 | 3
before = device.free_bytes()
for order in (vramstow.pause, vramstow.offload):
    try:
        order("graph")
    except vramstow.OffloadError as error:
        print(error)
    assert device.free_bytes() == before
    assert graph.launch() == 0
for keep in (True, False):
    device.write(block + 40 * MIB, 4)
    assert vramstow.pause("graph", keep=keep, graphs=True)
    assert device.free_bytes() == before + 64 * MIB
    assert vramstow.stats().paused_bytes == 64 * MIB
    print(graph.launch(), graph.launch())
    assert vramstow.resume("graph")
    assert device.free_bytes() == before
    assert not keep or word() == 4, "the refused launch did nothing"
    assert graph.launch() == 0 and word() == 3 << 32 | 3
"""
    done = run(program, *EXPLICIT)
    assert said(done) == [
        "pause: a captured graph may use the rest (with graphs=True it is paused, too, if no graph "
        "is launched before resume)",
        "offload: a captured graph may use the rest",
        "401 401",
        "401 401",
    ]
    assert done.stderr.count("the program launched a CUDA graph while memory") == 1, done.stderr


def test_each_reason_why_memory_stays_is_told_by_itself(run: Run) -> None:
    program = """
import ctypes, device, vramstow
from device import MIB
with vramstow.region("held"):
    held = device.allocate(64 * MIB)
with vramstow.region("free"):
    free = device.allocate(64 * MIB)
def told(order, region) -> None:
    try:
        order(region)
    except vramstow.OffloadError as error:
        print(error)
cuda = ctypes.CDLL("libcuda.so.1")
sync_memops, yes = 6, ctypes.c_uint(1)
assert cuda.cuPointerSetAttribute(ctypes.byref(yes), sync_memops, ctypes.c_uint64(held)) == 0
told(vramstow.pause, "held")
stream = ctypes.c_void_p()
assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert cuda.cuStreamBeginCapture_v2(stream, 2) == 0
told(vramstow.pause, "free")
told(vramstow.resume, "free")
graph = ctypes.c_void_p()
assert cuda.cuStreamEndCapture(stream, ctypes.byref(graph)) == 0
assert vramstow.pause("free")
room = device.free_bytes()
other = device.allocate(room // (2 * MIB) * 2 * MIB - 36 * MIB)
left = device.free_bytes()
told(vramstow.resume, "free")
assert device.free_bytes() == left >= 36 * MIB, "others may have what is left"
device.free(other)
assert vramstow.resume("free")
"""
    done = run(program, *EXPLICIT, card="h200,memory=200MiB")
    assert "memory stays paused (64 MiB): the device needs 28 MiB more free memory" in done.stderr
    assert said(done) == [
        "pause: another process or a device uses the rest",
        "pause: a stream is being captured",
        "resume: a stream is being captured",
        "resume: the device has not enough free memory for the rest",
    ]


# `cycle` allocates 82 MiB of host memory; `locked` is the system's count of the process's locked
# memory.
HOST_MEMORY = """
import device, time, vramstow
from device import MIB
def locked() -> int:
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    kinds = ("RssAnon", "RssFile", "RssShmem")
    return sum(int(status[kind].split()[0]) for kind in kinds) >> 10
with vramstow.region("weights"):
    weights = device.allocate(82 * MIB)
device.fill(weights, 7, 82 * MIB)
device.write(weights, 42)
def cycle(sleep) -> None:
    assert sleep("weights") and vramstow.resume("weights")
    assert device.read(weights) == 42
    assert vramstow.stats().offload_host_bytes == 82 * MIB
"""


@pytest.mark.parametrize("sleep", ["pause", "offload"])
def test_emptying_the_cache_gives_host_memory_back(run: Run, sleep: str) -> None:
    program = f"""{HOST_MEMORY}
for number in range(1, 4):
    before = locked()
    cycle(vramstow.{sleep})
    held = locked()
    vramstow.empty_cache()
    stats = vramstow.stats()
    assert stats.offload_host_bytes == 0, stats
    assert stats.offload_host_released_bytes == number * 82 * MIB, stats
    if vramstow.{sleep} is vramstow.pause:
        assert held >= before + 80 and locked() <= held - 80, (before, held, locked())
assert vramstow.pause("weights")
vramstow.empty_cache()
assert vramstow.stats().offload_host_bytes == 82 * MIB, "it holds what is paused"
assert vramstow.resume("weights") and device.read(weights) == 42
"""
    said(run(program, *EXPLICIT))


def test_host_memory_that_nothing_needs_goes_back_by_itself(run: Run) -> None:
    program = f"""{HOST_MEMORY}
cycle(vramstow.pause)
end = time.monotonic() + 60
while vramstow.stats().offload_host_bytes != 0:
    assert time.monotonic() < end, vramstow.stats()
    time.sleep(0.05)
cycle(vramstow.offload)
while vramstow.stats().offload_host_bytes != 0:
    assert time.monotonic() < end, vramstow.stats()
    time.sleep(0.05)
"""
    said(run(program, *EXPLICIT, "--decay=1s"))


def test_a_kernel_that_takes_the_place_of_an_unloaded_one_has_arguments_of_its_own(
    run: Run,
) -> None:
    # Touches are observed from the start of the program, so vramstow caches what it knows of a
    # kernel's arguments by the kernel's handle.
    program = """
import device
block = device.allocate(8 * device.MIB)
handles = set()
for parameters in [8, 1, 5, 1, 20, 2] * 20:
    module, kernel = device.load(parameters)
    handles.add(kernel.value)
    device.launch(kernel, [block] * parameters)
    device.launch(kernel, [block] * parameters)
    device.unload(module)
print(len(handles))
"""
    (handles,) = said(run(program, "--pool=on", "--offload=explicit,touches"))
    assert int(handles) < 120, "no handle came twice, so this shows nothing"


def test_what_is_given_up_can_be_written_again(run: Run) -> None:
    program = """
import device, vramstow
from device import MIB
with vramstow.region("cache"):
    cache = device.allocate(64 * MIB)
before = device.free_bytes()
assert vramstow.pause("cache", keep=False)
assert device.free_bytes() == before + 64 * MIB
assert vramstow.stats().offloaded_bytes == 0 and vramstow.stats().paused_bytes == 64 * MIB
assert vramstow.resume("cache")
device.write(cache, 5)
assert device.read(cache) == 5
"""
    said(run(program, *EXPLICIT))


def test_mistakes_are_told(run: Run) -> None:
    program = """
import device, vramstow
from device import MIB
device.allocate(MIB)
for order in (vramstow.offload, vramstow.pause, vramstow.resume):
    try:
        order("no such region")
    except ValueError as error:
        print(error)
try:
    vramstow.region("y" * 64)
except ValueError as error:
    print(error)
with vramstow.region("large"):
    device.allocate(80 * MIB)
try:
    vramstow.pause("large")
except vramstow.OffloadError as error:
    print(error)
"""
    lines = said(run(program, "--pool=on", "--offload=explicit,host=16MiB"))
    assert lines[:3] == [
        f"{order}: nothing was allocated in a region 'no such region'"
        for order in ("offload", "pause", "resume")
    ]
    assert lines[3].startswith("a region's name has 1 to 63 bytes: 'yyy")
    assert lines[4:] == [
        "pause: the host lacks memory for the rest, or the limit host= of --offload is reached"
    ]


def test_where_host_memory_cannot_be_mapped_pausing_works_and_that_is_told(run: Run) -> None:
    program = """
import device, vramstow
with vramstow.region("weights"):
    weights = device.allocate(8 * device.MIB)
device.write(weights, 42)
try:
    vramstow.offload("weights")
except vramstow.OffloadError as error:
    print(error)
assert vramstow.pause("weights") and vramstow.resume("weights")
assert device.read(weights) == 42
"""
    done = run(program, *EXPLICIT, card="h200,without=host-vmm")
    (line,) = said(done)
    assert "cannot map host memory" in line
    assert "--offload moves no memory by itself" in done.stderr


HOLDER = """
import sys, device, vramstow
with vramstow.region("weights"):
    weights = [device.allocate(20 * device.MIB) for _ in range(20)]
for number, address in enumerate(weights):
    device.write(address, number)
print("ready", flush=True)
for line in sys.stdin:
    order = line.strip()
    if order == "read":
        assert [device.read(address) for address in weights] == list(range(20))
    elif order != "wait":
        getattr(vramstow, order)("weights")
    print("done", flush=True)
"""
TAKER = """
import device
print(device.allocate(400 * device.MIB) != 0)
"""


class Holder:
    """A process that holds 400 MiB of a GPU of 600 MiB, and executes the commands of the test."""

    def __init__(self, folder: Path, share: str) -> None:
        self.card = f"h200,memory=600MiB,share={share}"
        self.folder = folder
        self.process = subprocess.Popen(
            [*self.command("--control-dir", str(folder), *EXPLICIT), sys.executable, "-c", HOLDER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=package_environment(),
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", self.error()

    def error(self) -> str:
        assert self.process.stderr is not None
        self.process.kill()
        return self.process.stderr.read()

    def command(self, *flags: str) -> list[str]:
        own = ["run", f"--simulate={self.card}", "--trace-dir", str(self.folder), *flags, "--"]
        return [str(VRAMSTOW), *own]

    def tell(self, order: str) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n", self.error()

    def another_process_can_take_400_mib(self) -> bool:
        taken = run_program(
            *self.command(), sys.executable, "-c", TAKER, timeout=120, env=package_environment()
        )
        return taken.returncode == 0 and taken.stdout == "True\n"

    def ctl(self, *request: str) -> str:
        (socket,) = self.folder.glob("*.sock")
        command = [str(VRAMSTOW), "ctl", "--control-dir", str(self.folder), socket.stem, *request]
        done = run_program(*command, timeout=120)
        return f"{done.returncode} {done.stdout}{done.stderr}"

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0, self.error()


@pytest.fixture
def holder(tmp_path: Path) -> Holder:
    return Holder(tmp_path, f"residency-{os.getpid()}-{time.monotonic_ns()}")


@pytest.mark.parametrize("sleep", ["pause", "offload"])
def test_what_sleeps_leaves_room_for_another_process(holder: Holder, sleep: str) -> None:
    assert not holder.another_process_can_take_400_mib()
    holder.tell(sleep)
    assert holder.another_process_can_take_400_mib()
    holder.tell("resume")
    holder.tell("read")
    assert not holder.another_process_can_take_400_mib()
    holder.end()


def test_ctl_moves_memory_of_a_running_process(holder: Holder) -> None:
    assert holder.ctl("offload", "--bytes", "100MiB") == "0 moved 100 MiB to the host\n"
    assert holder.ctl("resume") == "0 moved 100 MiB back\n"
    assert holder.ctl("offload", "--region", "weights") == "0 moved 400 MiB to the host\n"
    assert "offloaded  400 MiB, 0 B of it paused" in holder.ctl("stats")
    assert holder.another_process_can_take_400_mib()
    assert holder.ctl("offload", "resume", "--region", "weights") == "0 moved 400 MiB back\n"
    assert holder.ctl("offload", "--idle", "200ms") == "0 moved 400 MiB to the host\n"
    assert holder.ctl("resume") == "0 moved 400 MiB back\n"
    holder.tell("read")
    holder.end()


def test_ctl_gives_host_memory_back(holder: Holder) -> None:
    holder.tell("pause")
    assert "host       400 MiB held for that, 0 B given back" in holder.ctl("stats")
    assert " to the host" not in holder.ctl("empty-cache")
    holder.tell("resume")
    assert ", and 400 MiB to the host in " in holder.ctl("empty-cache")
    assert "host       0 B held for that, 400 MiB given back" in holder.ctl("stats")
    holder.tell("pause")
    holder.tell("resume")
    assert '"host_released_bytes":419430400,' in holder.ctl("--json", "empty-cache")
    holder.tell("read")
    holder.end()


def test_ctl_says_what_is_wrong(holder: Holder) -> None:
    assert "this process has no such region" in holder.ctl("offload", "--region", "x")
    assert holder.ctl("offload", "--region", "x").startswith("1 ")
    assert "--idle needs a time, for example 5s" in holder.ctl("offload", "--idle", "soon")
    assert "offload takes no argument, region NAME" in holder.ctl("offload", "--bytes", "many")
    assert "--idle and --bytes belong to offload" in holder.ctl("resume", "--bytes", "1GiB")
    assert holder.ctl("resume", "--bytes", "1GiB").startswith("2 ")
    assert "excludes" in holder.ctl("offload", "--bytes", "1GiB", "--idle", "1s")
    holder.end()
