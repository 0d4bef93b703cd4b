"""Programs of other projects and libraries use one simulated GPU by turns."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from built import run_vramstow
from sharers import CARD, PATIENCE, Share, Sharer, run_words, tables

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
kernels = pytest.importorskip(
    "jupyter_client", reason="needs the packages of setup/requirements-notebook.txt"
)

SHARES_TENSORS = Path(__file__).parent / "programs/shares_tensors.py"
TRAINS = Path(__file__).parent / "programs/trains_beside.py"
TWO_CARDS = "h100,memory=1GiB,context=16MiB,values=all,count=2"
RANKS = 2


def losses(sharer: Sharer) -> list[str]:
    lines = sharer.out.read_text().splitlines()
    return sorted(line for line in lines if line.startswith("losses"))


def test_a_job_of_torchrun_trains_beside_another_program_as_it_does_alone(
    share: Share, tmp_path: Path
) -> None:
    words = ("torch.distributed.run", "--standalone", "--nproc-per-node", RANKS, TRAINS, 40, 256)
    alone = share(*words, program="-m", card=TWO_CARDS)
    assert alone.end() == 0, alone.said()
    assert len(losses(alone)) == RANKS
    other = share(200, 100000, 1, card=TWO_CARDS)
    other.wait_for_rounds(1)
    beside = share(*words, program="-m", card=TWO_CARDS)
    assert beside.end() == 0, beside.said()
    assert losses(beside) == losses(alone)
    assert beside.waited_for_a_turn()
    seen = other.rounds()
    other.wait_for_rounds(seen + 2)
    other.send(signal.SIGUSR1)
    assert other.end() == 0, other.said()
    assert other.shared()["out_bytes"] > 0
    assert tables(tmp_path) == []


class Notebook:
    """A kernel of Jupyter that was started by `vramstow run --share`, as a kernel spec says it."""

    def __init__(self, folder: Path) -> None:
        traces = folder / "traces-of-kernel"
        traces.mkdir()
        argv = [*run_words(folder, traces, f"{CARD},values=all"), "--", sys.executable]
        argv += ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager = kernels.KernelManager()
        self.manager._kernel_spec = kernels.kernelspec.KernelSpec(argv=argv, language="python")
        self.err = folder / "err-of-kernel"
        self.manager.start_kernel(stdout=self.err.open("w"), stderr=self.err.open("a"))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(PATIENCE)

    def start(self, cell: str) -> str:
        return self.client.execute(cell)

    def wait_until_begun(self, request: str) -> None:
        """Waits until the kernel runs the cell; an interrupt of an idle kernel has no effect."""
        while True:
            message = self.client.get_iopub_msg(PATIENCE)
            is_ours = message["parent_header"].get("msg_id") == request
            if is_ours and message["msg_type"] == "execute_input":
                return

    def result(self, request: str) -> str:
        """Returns what the cell printed, or the name of its error."""
        said = ""
        while True:
            message = self.client.get_iopub_msg(PATIENCE)
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                said += content["text"]
            elif kind == "error":
                said += content["ename"]
            elif kind == "status" and content["execution_state"] == "idle":
                return said.strip()

    def run(self, cell: str) -> str:
        return self.result(self.start(cell))

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Notebook]]:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    made: list[Notebook] = []

    def make() -> Notebook:
        made.append(Notebook(tmp_path))
        return made[-1]

    yield make
    for one in made:
        one.manager.shutdown_kernel(now=True)


HOLD = """
import os, torch
blocks = [torch.full((4 << 20,), float(i), device="cuda") for i in range(18)]
print(os.getpid())
"""
CHECK = "print(all(bool((block == i).all()) for i, block in enumerate(blocks)))"


def test_cells_run_beside_a_program_and_end_by_an_interrupt_after_a_pause(
    share: Share, notebook: Callable[[], Notebook], tmp_path: Path
) -> None:
    kernel = notebook()
    process = kernel.run(HOLD)
    other = share(300, 100000, 1)
    other.wait_for_rounds(3)
    assert kernel.run(CHECK) == "True"
    other.wait_for_rounds(other.rounds() + 2)

    where = ("--control-dir", tmp_path / "control", process)
    run_vramstow("ctl", *where, "share", "--pause", check=True)
    waiting = kernel.start(CHECK)
    kernel.wait_until_begun(waiting)
    time.sleep(0.5)  # an interrupt before the cell waits for its turn ends it, too
    kernel.manager.interrupt_kernel()
    seen = other.rounds()
    other.wait_for_rounds(seen + 2)
    assert kernel.manager.is_alive()
    run_vramstow("ctl", *where, "share", "--resume", check=True)
    assert kernel.result(waiting) == "KeyboardInterrupt"
    assert kernel.run(CHECK) == "True"
    stats = json.loads(run_vramstow("ctl", "--json", *where, "stats", check=True).stdout)
    [shared] = stats["share"]
    assert shared["turns"] > 0 and shared["in_bytes"] > 0

    kernel.manager.restart_kernel()
    kernel.client.wait_for_ready(PATIENCE)
    assert kernel.run(HOLD) != process
    assert kernel.run(CHECK) == "True"
    kernel.end()
    other.wait_for_rounds(other.rounds() + 1)
    other.send(signal.SIGUSR1)
    assert other.end() == 0, other.said()
    assert tables(tmp_path) == []


def test_tensors_that_processes_of_one_job_share_stay_while_others_move(share: Share) -> None:
    card = "h100,memory=512MiB,context=16MiB"
    other = share(300, 100000, 1, card=card)
    other.wait_for_rounds(1)
    pair = share(12, 80, program=SHARES_TENSORS, card=card)
    assert pair.end() == 0, pair.said()
    assert "all bytes right" in pair.said()
    assert pair.waited_for_a_turn()
    other.wait_for_rounds(other.rounds() + 1)
    other.send(signal.SIGUSR1)
    assert other.end() == 0, other.said()
    moved = [process.get("out_bytes", 0) for process in pair.shared_by_process()]
    assert sum(moved) > 0
