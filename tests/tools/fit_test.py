"""vramstow fit: the largest value of a setting that fits onto simulated cards."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from installation import VRAMSTOW

# 1 GiB, and 100 MiB for each of the batch; exits with 1 when memory runs out, with 3 for 13.
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
    return subprocess.run(
        [VRAMSTOW, "fit", *arguments, "--", sys.executable, job, "{batch}"],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )


def largest(card: dict[str, Any]) -> int:
    """The bytes that arithmetic says."""
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
    # The second card begins with what was learned on the first.
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
        ["--", "true", "{batch}"],
    ):
        result = subprocess.run(
            [VRAMSTOW, "fit", *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert result.returncode == 2, arguments
        assert result.stderr.count("\n") == 1
    unknown = fit(tmp_path, "--simulate=nocard")
    assert unknown.returncode == 2
    assert "nocard" in unknown.stderr


def test_traces_are_kept_where_that_is_wanted(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    result = fit(tmp_path, "--simulate=h100,memory=4GiB", "--to", "2", "--keep", str(kept))
    assert result.returncode == 0, result.stderr
    assert "the largest that was to be tried" in result.stdout
    assert list(kept.glob("1/traces/*.stow"))


def once(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    job = folder / "job.py"
    job.write_text(JOB)
    return subprocess.run(
        [VRAMSTOW, "fit", "--once", *arguments[:-1], "--", sys.executable, job, arguments[-1]],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
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


def test_an_interrupt_ends_the_search_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    job = tmp_path / "job.py"
    job.write_text(
        f"{JOB}\nopen({str(tmp_path / 'began')!r}, 'w').close()\nimport time\ntime.sleep(60)"
    )
    with subprocess.Popen(
        [VRAMSTOW, "fit", "--once", "--simulate=h100", "--", sys.executable, job, "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
        start_new_session=True,
    ) as search:
        deadline = time.monotonic() + 60
        while not (tmp_path / "began").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(search.pid, signal.SIGINT)  # as a terminal does
        out, err = search.communicate(timeout=60)
    assert search.returncode == 2
    assert (out, err) == ("", "vramstow fit: interrupted.\n")
    assert list(folder.iterdir()) == []
