"""A job of bench/share_bursts.py: share_jobs.py KIND --memory MIB --seconds S [--seed N] [...]

`trains` makes steps of the decoder of moves_models.py. `bursts` gives the GPU work for --burst
seconds every --every seconds. `serves` gets --rate requests a second at random moments, and each of
them takes the GPU 50 ms to 200 ms.

The virtual clock of clock=model advances only with work, but these jobs also depend on pauses. So
each job keeps its virtual clock and the real time together: it sleeps when the clock is ahead, and
advances the clock while it has nothing to do. Jobs that start at the same time then have clocks
that agree, and the real times in the rules of turns are in the right proportion.

The job prints a line of JSON when its memory is allocated, waits for a line with its start (the
real and the virtual time, in nanoseconds), and prints a line with its figures at the end.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import sys
import time

import torch

SIDE = 8192  # of the matrices: a product takes about 2 ms
SECOND = 1_000_000_000
MEBIBYTE = 1 << 20


class ModelClock(ctypes.Structure):
    """The struct vramstowSimulatorModelClock of simulator_api.h."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "now_ns",
            "link_read_bytes",
            "to_host_bytes",
            "to_device_bytes",
            "wait_ns",
            "work_ns",
            "operators",
            "link_work_ns",
            "due_ns",
        )
    ]


class Pace:
    """Keeps the virtual clock and the real time together. All times are nanoseconds since the
    start."""

    def __init__(self) -> None:
        self.card = ctypes.CDLL("libcuda.so.1")
        for name in ("Time", "LatestTime", "JoinTime"):
            getattr(self.card, f"vramstowSimulator{name}").restype = ctypes.c_uint64
        self.real_start = self.virtual_start = 0
        self.clock = ModelClock()

    def start(self, real: int, virtual: int) -> None:
        self.real_start, self.virtual_start = real, virtual
        self.rest_until(0)

    def real(self) -> int:
        return time.monotonic_ns() - self.real_start

    def now(self) -> int:
        return self.card.vramstowSimulatorTime() - self.virtual_start

    def latest(self) -> int:
        return self.card.vramstowSimulatorLatestTime()

    def rest_until(self, when: int) -> None:
        """Lets time pass in which this job gives the GPU nothing to do."""
        while self.now() < when:
            time.sleep(max(0, min(when - self.real(), 2_000_000)) / SECOND)
            self.join(min(self.real(), when))

    def join(self, when: int) -> None:
        self.card.vramstowSimulatorJoinTime(ctypes.c_uint64(max(0, when + self.virtual_start)))

    def finish(self) -> int:
        """Waits until the submitted work has ended by both clocks. Returns the virtual time.

        It sleeps first, because a job whose work has not ended is not idle.
        """
        while (left := self.due() - self.real()) > 0:
            time.sleep(left / SECOND)
        torch.cuda.synchronize()
        return self.now()

    def due(self) -> int:
        """Returns when all work that was submitted so far will have ended."""
        size = ctypes.c_size_t(ctypes.sizeof(self.clock))
        self.card.vramstowSimulatorReadModelClock(ctypes.byref(self.clock), size)
        return self.clock.due_ns - self.virtual_start


class Products:
    """Work of a known duration, and memory that is only held."""

    def __init__(self, pace: Pace, mib: int) -> None:
        self.left, self.right, self.result = (
            torch.empty(SIDE, SIDE, dtype=torch.bfloat16, device="cuda") for _ in range(3)
        )
        self.multiply(1)
        held = mib - torch.cuda.memory_allocated() // MEBIBYTE
        self.held = [
            torch.empty(256 * MEBIBYTE, dtype=torch.uint8, device="cuda")
            for _ in range(held // 256)
        ]
        self.multiply(1)
        torch.cuda.synchronize()
        began = pace.now()
        self.multiply(50)
        torch.cuda.synchronize()
        self.each_ns = (pace.now() - began) / 50

    def multiply(self, count: int) -> None:
        for _ in range(count):
            torch.mm(self.left, self.right, out=self.result)

    def submit(self, nanoseconds: float) -> int:
        """Gives the GPU about so much work. Returns how long it takes."""
        count = max(1, round(nanoseconds / self.each_ns))
        self.multiply(count)
        return round(count * self.each_ns)


def wait_for_start(pace: Pace) -> None:
    torch.cuda.synchronize()
    print(json.dumps({"ready_ns": pace.latest()}), flush=True)
    pace.start(*(int(word) for word in sys.stdin.readline().split()))


def train(pace: Pace, options: argparse.Namespace) -> dict[str, object]:
    from moves_means import MEANS
    from moves_models import JOBS

    torch.manual_seed(1)
    torch.set_default_device("cuda")
    step = MEANS["plain"].steps_of(JOBS["decoder"](False, MEANS["plain"].place))
    for _ in range(3):
        step()
    wait_for_start(pace)
    steps = 0
    lag = 0
    while (ended := pace.finish()) < options.seconds * SECOND:
        lag = max(lag, pace.real() - ended)
        step()
        steps += 1
    return {"steps": steps, "end_ns": ended, "lag_ns": lag}


def answer(
    pace: Pace, options: argparse.Namespace, moments: list[tuple[float, float]]
) -> dict[str, object]:
    """Executes work of given durations, which comes at given moments, one after the other."""
    products = Products(pace, options.memory)
    wait_for_start(pace)
    names = ("latency_ns", "real_latency_ns", "waited_ns", "real_waited_ns")
    figures: dict[str, list[int]] = {name: [] for name in names}
    busy = ended = 0
    for moment, duration in moments:
        arrived = round(moment)
        pace.rest_until(arrived)
        work = products.submit(duration)
        ended = pace.finish()
        busy += work
        # What comes while earlier work is late waits for that, too.
        for clock, now in {"": ended, "real_": pace.real()}.items():
            figures[f"{clock}latency_ns"].append(now - arrived)
            figures[f"{clock}waited_ns"].append(max(0, now - arrived - work))
    return {**figures, "busy_ns": busy, "end_ns": ended}


def bursts(options: argparse.Namespace) -> list[tuple[float, float]]:
    # The first burst begins after half a period, in which the other jobs get going.
    count = int(options.seconds / options.every)
    return [
        ((number + 0.5) * options.every * SECOND, options.burst * SECOND) for number in range(count)
    ]


def requests(options: argparse.Namespace) -> list[tuple[float, float]]:
    chance = random.Random(options.seed)
    found = []
    moment = chance.expovariate(options.rate)
    while moment < options.seconds:
        found.append((moment * SECOND, chance.uniform(0.05, 0.2) * SECOND))
        moment += chance.expovariate(options.rate)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("trains", "bursts", "serves"))
    parser.add_argument("--memory", type=int, default=0, metavar="MIB")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--burst", type=float, default=2, metavar="SECONDS")
    parser.add_argument("--every", type=float, default=30, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=1, help="of requests, a second")
    options = parser.parse_args()
    pace = Pace()
    torch.cuda.init()
    if options.kind == "trains":
        figures = train(pace, options)
    else:
        moments = bursts(options) if options.kind == "bursts" else requests(options)
        figures = answer(pace, options, moments)
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
