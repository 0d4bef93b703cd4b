"""Tests vramstow fit: the largest value of a setting that fits on simulated GPUs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, run_program, run_vramstow

# The job needs 1 GiB, and 100 MiB per unit of the batch; it exits with 1 if memory runs out, with 3
# for a batch of 13.
PATIENCE = 120  # seconds, on a busy machine

JOB = """
import ctypes, sys
batch = int(sys.argv[1])
if batch == 13:
    sys.exit(3)
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
for size in [1 << 30] + [100 << 20] * batch:
    if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) != 0:
        print("out of memory at", size)
        sys.exit(1)
"""
CARDS = "h100,memory=4GiB,h100,memory=8GiB"


def fit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    job = folder / "job.py"
    job.write_text(JOB)
    return run_vramstow("fit", *arguments, "--", sys.executable, job, "{batch}", timeout=170)


def largest(card: dict[str, Any]) -> int:
    """Computes the expected bytes."""
    return (card["capacity_bytes"] - 2**30) // (100 * 2**20)


def test_the_border_is_found_on_each_card(tmp_path: Path) -> None:
    result = fit(tmp_path, f"--simulate={CARDS}", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert [card["card"] for card in told["cards"]] == ["h100,memory=4GiB", "h100,memory=8GiB"]
    for card in told["cards"]:
        assert card["largest"] == largest(card)
        assert 0 <= card["spare_bytes"] < 100 * 2**20
        assert card["largest_without_fragmentation"] == largest(card)
        by_value = {run["value"]: run for run in card["runs"]}
        assert by_value[card["largest"]]["fits"]
        assert not by_value[card["largest"] + 1]["fits"]
        assert by_value[1]["peak_reserved_bytes"] == 2**30 + 100 * 2**20
        assert round(sum(site["bytes_per_unit"] for site in card["growth"])) == 100 * 2**20
    # The search on the second GPU begins with the results of the first.
    assert len(told["cards"][1]["runs"]) <= 4
    assert told["rehearsals"] <= 14


def test_the_table_has_the_same_numbers(tmp_path: Path) -> None:
    arguments = ("--simulate=h100,memory=4GiB", "--to", "64", "--step", "4", "--repeat", "2")
    told = json.loads(fit(tmp_path, *arguments, "--json").stdout)["cards"][0]
    text = fit(tmp_path, *arguments).stdout
    assert f"largest that fits      {told['largest']}:" in text
    assert told["largest"] % 4 == 1
    assert f"about {told['largest_without_fragmentation']}" in text
    for run in told["runs"]:
        [line] = [line for line in text.splitlines() if line.split()[:1] == [str(run["value"])]]
        assert ("does not fit" in line) != run["fits"]


def test_what_does_not_fit_and_what_fails_are_told_apart(tmp_path: Path) -> None:
    nothing = fit(tmp_path, "--simulate=h100,memory=1GiB")
    assert nothing.returncode == 1
    assert "not even 1 fits" in nothing.stdout
    failing = fit(tmp_path, "--simulate=h100", "--from", "13")
    assert failing.returncode == 2
    assert failing.stderr.count("\n") == 1
    assert "exit status 3" in failing.stderr


def test_how_far_it_is_is_told_without_a_terminal_too(tmp_path: Path) -> None:
    result = fit(tmp_path, "--simulate=h100,memory=4GiB", "--to", "2")
    assert result.returncode == 0, result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    for number, line in enumerate(lines, 1):
        assert re.fullmatch(
            rf"vramstow fit: run {number}: \d on h100,memory=4GiB (does not fit|fits), "
            r"[\d.]+ [GM]iB at the peak",
            line,
        ), line


def test_wrong_arguments_get_one_sentence(tmp_path: Path) -> None:
    for arguments in (
        ["--simulate=h100", "--", "true"],
        ["--simulate=h100", "--step", "0", "--", "true", "{batch}"],
        ["--simulate=h100", "--from", "9", "--to", "3", "--", "true", "{batch}"],
        ["--simulate=h100", "--from", "0", "--to", f"{2**64 - 1}", "--", "true", "{batch}"],
        ["--", "true", "{batch}"],
    ):
        result = run_vramstow("fit", *arguments, timeout=60)
        assert result.returncode == 2, arguments
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("cards", "sentence"),
    [
        ("nocard", "nocard"),
        ("h100,nocard", "nocard"),
        ("h100,,l4", "has an empty part"),
        ("h100,", "has an empty part"),
        ("h100,help", "vramstow run --simulate=help lists them"),
    ],
)
def test_all_cards_are_checked_before_the_command_runs(
    tmp_path: Path, cards: str, sentence: str
) -> None:
    ran = tmp_path / "ran"
    for arguments in (["--once", "--", "touch", ran], ["--", "touch", ran, "{batch}"]):
        result = run_vramstow("fit", f"--simulate={cards}", *arguments, timeout=60)
        assert (result.returncode, result.stdout) == (2, "")
        assert sentence in result.stderr and result.stderr.count("\n") == 1
        assert not ran.exists()


def test_traces_are_kept_where_that_is_wanted(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    result = fit(tmp_path, "--simulate=h100,memory=4GiB", "--to", "2", "--keep", str(kept))
    assert result.returncode == 0, result.stderr
    assert "the largest value to try" in result.stdout
    assert list(kept.glob("1/traces/*.stow"))


def once(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    job = folder / "job.py"
    job.write_text(JOB)
    return run_vramstow(
        "fit", "--once", *arguments[:-1], "--", sys.executable, job, arguments[-1], timeout=170
    )


def test_once_tells_of_each_card_whether_the_command_fits_and_what_it_takes(tmp_path: Path) -> None:
    taken = 2**30 + 10 * 100 * 2**20
    result = once(tmp_path, f"--simulate={CARDS},t4,memory=1536MiB", "--json", "10")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["schema"] == {"name": "vramstow.estimate", "version": 1}
    assert [card["fits"] for card in told["cards"]] == [True, True, False]
    for card in told["cards"]:
        context = card["parts"]["context"]
        assert card["peak_bytes"] == taken + context == sum(card["parts"].values())
        assert card["spare_bytes"] == card["total_bytes"] - card["peak_bytes"]
        assert (card["spare_bytes"] >= 0) == card["fits"] == (card["out_of_memory"] == 0)
    text = once(tmp_path, f"--simulate={CARDS},t4,memory=1536MiB", "10").stdout
    assert "h100,memory=8GiB (NVIDIA H100 80GB HBM3)\n  fits: 2.4" in text
    assert "  does not fit: 2.07 GiB" in text
    assert "more than 1.50 GiB" in text


def test_the_run_with_more_memory_has_the_context_of_the_small_card(tmp_path: Path) -> None:
    result = once(tmp_path, "--simulate=h200,memory=1GiB", "--json", "1")
    (card,) = json.loads(result.stdout)["cards"]
    assert card["parts"]["context"] == 128 * 2**20  # 1/8 of the memory
    assert card["peak_bytes"] == (1024 + 100 + 128) * 2**20


def test_once_fails_where_nothing_fits_or_the_command_fails(tmp_path: Path) -> None:
    nothing = once(tmp_path, "--simulate=h100,memory=1GiB", "1")
    assert nothing.returncode == 1
    assert "does not fit" in nothing.stdout
    failing = once(tmp_path, "--simulate=h100", "13")
    assert failing.returncode == 2
    assert failing.stderr == (
        "vramstow fit: the command failed with exit status 3 before it used device memory: it said "
        "nothing.\n"
    )
    place = once(tmp_path, "--simulate=h100", "{batch}")
    assert place.returncode == 2
    assert "write a value in place of {batch}" in place.stderr
    both = once(tmp_path, "--simulate=h100", "--from", "3", "1")
    assert both.returncode == 2
    assert both.stderr.count("\n") == 1


def test_a_run_that_was_refused_memory_and_continued_does_not_fit(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB.replace("sys.exit(1)", "sys.exit(0)"))
    command = ["--", sys.executable, job, "{batch}"]
    card = "h100,memory=2GiB"
    found = run_vramstow("fit", f"--simulate={card}", "--to", "9", *command, timeout=170)
    assert found.returncode == 0, found.stderr
    refused = "does not fit: it ran out of memory 1 time, and continued"
    assert f"8 on {card} {refused}, " in found.stderr
    [line] = [line for line in found.stdout.splitlines() if line.split()[:1] == ["8"]]
    assert line.endswith(refused)
    [told] = json.loads(
        run_vramstow(
            "fit", f"--simulate={card}", "--to", "9", "--json", *command, timeout=170
        ).stdout
    )["cards"]
    assert told["largest"] == largest(told) < 9
    nothing = run_vramstow(
        "fit", f"--simulate={card}", "--from", "9", "--to", "9", *command, timeout=170
    )
    assert nothing.returncode == 1
    assert "not even 9 fits" in nothing.stdout and refused in nothing.stdout
    single = [f"--simulate={card}", "--", sys.executable, job, "9"]
    unchanged = run_vramstow("fit", "--once", *single, timeout=170)
    assert unchanged.returncode == 1
    assert "  does not fit: " in unchanged.stdout
    assert "  it ran out of memory 1 time, and continued\n" in unchanged.stdout
    planned = run_vramstow("plan", f"--cards={card}", "--batch=1,9", *command, timeout=170)
    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.splitlines()[2].split()[:2] == [card, "1"]
    others = planned.stdout.partition("Does not fit:\n")[2]
    assert "9      It ran out of memory 1 time, and continued." in others


# Two processes hold a batch each at the same time, on the same GPU.
BOTH = """
import subprocess, sys
command = [sys.executable, sys.argv[1]]
processes = [
    subprocess.Popen([*command, batch], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for batch in sys.argv[2:]
]
for process in processes:
    process.stdout.readline()
for process in processes:
    process.communicate()
"""


def test_processes_that_share_a_gpu_are_added_up(tmp_path: Path) -> None:
    job, both = tmp_path / "job.py", tmp_path / "both.py"
    job.write_text(JOB + "print('holds', flush=True)\nsys.stdin.read()\n")
    both.write_text(BOTH)
    command = ["--", sys.executable, both, job]
    card = "--simulate=h100,memory=8GiB"
    result = run_vramstow("fit", "--once", card, "--json", *command, "2", "5", timeout=170)
    assert result.returncode == 0, result.stderr
    [told] = json.loads(result.stdout)["cards"]
    assert told["processes"] == 2
    assert told["parts"]["other processes"] == 2**30 + 2 * 100 * 2**20
    taken = 2 * 2**30 + 7 * 100 * 2**20 + told["parts"]["context"]
    assert told["peak_bytes"] == taken == sum(told["parts"].values())
    assert told["spare_bytes"] == told["total_bytes"] - taken
    text = run_vramstow("fit", "--once", card, *command, "2", "5", timeout=170).stdout
    assert "Several processes share a GPU: its peak is the sum" in text
    found = run_vramstow("fit", card, "--to", "2", *command, "{batch}", "5", timeout=170).stdout
    assert ": 2.68 GiB at the peak" in found and "Several processes share a GPU" in found


# The job writes its process id and that of a child, and then does nothing for a long time. If a
# signal ends it, it writes the signal's number first.
SLOW = """
if batch >= {slow_from}:
    import os, signal, subprocess, time
    def end(number, frame):
        with open({began!r} + ".got", "w") as file:
            file.write(str(number))
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    child = subprocess.Popen(["sleep", "600"])
    with open({began!r} + ".tmp", "w") as file:
        file.write(f"{{os.getpid()}} {{child.pid}}")
    os.rename({began!r} + ".tmp", {began!r})
    time.sleep(600)
"""


class Search:
    """A search by simulated runs that is slow from one value on, where a signal ends it."""

    def __init__(self, folder: Path, slow_from: int, *arguments: str) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.began = folder / "began"
        job = folder / "job.py"
        job.write_text(JOB + SLOW.format(slow_from=slow_from, began=str(self.began)))
        self.process = subprocess.Popen(
            [VRAMSTOW, *arguments[:-1], "--", sys.executable, job, arguments[-1]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(self.temporary)},
            start_new_session=True,
        )

    def end(self, number: int, to_group: bool) -> tuple[str, str]:
        """Sends the signal when the slow value runs. Returns the output; no process may be left."""
        wait_until(self.began.exists)
        jobs = [int(word) for word in self.began.read_text(encoding="ascii").split()]
        (os.killpg if to_group else os.kill)(self.process.pid, number)
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 128 + number, err
        assert list(self.temporary.iterdir()) == []
        wait_until(lambda: not any(map(runs, jobs)))
        return out, err

    def signal_of_job(self) -> int:
        """Returns the number of the signal that ended the job."""
        return int(Path(f"{self.began}.got").read_text(encoding="ascii"))


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def has_taken(process: int, number: int) -> bool:
    """Says whether no signal of this number waits for the process."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    waiting = re.search(r"^ShdPnd:\s+(\w+)", status, re.MULTILINE)
    return waiting is not None and int(waiting[1], 16) >> (number - 1) & 1 == 0


def runs(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


SIGNALS = pytest.mark.parametrize(
    ("number", "to_group"),
    [
        (signal.SIGINT, True),  # a terminal signals the whole group
        (signal.SIGINT, False),
        (signal.SIGTERM, False),
        (signal.SIGHUP, False),
    ],
)


@SIGNALS
def test_a_signal_ends_the_job_and_what_is_known_is_printed(
    tmp_path: Path, number: int, to_group: bool
) -> None:
    search = Search(tmp_path, 3, "fit", "--simulate=h100,a100", "--json", "{batch}")
    out, _ = search.end(number, to_group)
    assert search.signal_of_job() == number
    cards = json.loads(out)["cards"]
    assert [(card["card"], card["largest"], card["interrupted"]) for card in cards] == [
        ("h100", 1, True)
    ]


@SIGNALS
def test_a_signal_ends_the_job_of_a_plan_too(tmp_path: Path, number: int, to_group: bool) -> None:
    search = Search(tmp_path, 2, "plan", "--cards=h100", "--batch=1,2,4", "{batch}")
    out, _ = search.end(number, to_group)
    assert search.signal_of_job() == number
    assert out.startswith("Interrupted; these are the results so far.\n")
    assert out.splitlines()[4].split()[:2] == ["h100", "1"]


def test_an_interrupted_search_says_what_is_known_in_words(tmp_path: Path) -> None:
    out, _ = Search(tmp_path, 3, "fit", "--simulate=h100", "{batch}").end(signal.SIGTERM, False)
    assert out.startswith("Interrupted; these are the results so far.\n\nh100\n")
    assert "  largest that fits      1 (so far: the search was interrupted): 1.10 GiB at " in out


def test_a_job_that_ignores_signals_is_ended_by_a_second_one(tmp_path: Path) -> None:
    search = Search(tmp_path, 1, "fit", "--once", "--simulate=h100", "1")
    job = tmp_path / "job.py"
    job.write_text("import signal; signal.signal(2, signal.SIG_IGN)\n" + job.read_text())
    wait_until(search.began.exists)
    os.kill(search.process.pid, signal.SIGINT)
    # Two signals of one number that wait at the same time would be one.
    wait_until(lambda: has_taken(search.process.pid, signal.SIGINT))
    out, err = search.end(signal.SIGINT, False)
    assert (out, err) == ("", "vramstow fit: interrupted before there was a result.\n")


def test_a_value_that_does_not_matter_ends_the_search(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB.replace("[100 << 20] * batch", "[]"))
    command = [VRAMSTOW, "fit", "--simulate=h100", "--", sys.executable, job, "{batch}"]
    result = run_program(*command, timeout=170)
    assert result.returncode == 0, result.stderr
    assert re.findall(r": (\d+) on h100 fits", result.stderr) == ["1", "3", "7", "449"]
    assert "every value that was tried fits: the peak is the same with each of" in result.stdout
    assert "so the value does not change it" in result.stdout


def test_a_card_that_matches_a_snapshot_is_looked_up(tmp_path: Path) -> None:
    missing = tmp_path / "missing.pickle"
    result = run_vramstow("fit", "--once", f"--simulate=match={missing}", "--", "true", timeout=60)
    assert result.returncode == 2
    assert str(missing) in result.stderr and "there is no card" not in result.stderr
