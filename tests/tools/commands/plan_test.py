"""Tests vramstow plan: the settings of a command that fit on GPUs, and the fastest of them."""

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

import pytest
from built import ROOT, VRAMSTOW, run_vramstow
from fit_test import JOB

# The sizes of the job in fit_test.py: 1 GiB, and 100 MiB per unit of the batch.
Result = subprocess.CompletedProcess[str]
GIB, EACH = 2**30, 100 * 2**20


def plan(
    folder: Path,
    *arguments: str,
    places: str = "{batch}",
    env: dict[str, str] | None = None,
) -> Result:
    job = folder / "job.py"
    job.write_text(JOB)
    command = [sys.executable, job, *places.split()]
    return run_vramstow("plan", *arguments, "--", *command, timeout=500, env=env)


def rows(result: Result) -> dict[str, dict[str, Any]]:
    """Returns the rows by GPU and batch."""
    told = json.loads(result.stdout)
    return {f"{row['card']} {row['settings']['batch']}": row for row in told["rows"]}


def test_what_fits_is_told_for_each_card(tmp_path: Path) -> None:
    cards = "h100,memory=4GiB,l4x2,memory=6GiB"
    result = plan(tmp_path, "--cards", cards, "--batch", "1,2,4..64", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["schema"]["name"] == "vramstow.plan" and not told["interrupted"]
    by_name = rows(result)
    assert len(by_name) == 14
    for row in by_name.values():
        taken = GIB + EACH * int(row["settings"]["batch"])
        context = row["peak_bytes"] - taken
        assert 100 * 2**20 < context < 600 * 2**20  # only the GPU's context
        assert row["fits"] == (row["peak_bytes"] <= 0.95 * row["total_bytes"])
        assert row["spare_bytes"] == row["total_bytes"] - row["peak_bytes"]
    assert by_name["h100,memory=4GiB 16"]["fits"]
    assert not by_name["h100,memory=4GiB 32"]["fits"]
    assert by_name["l4x2,memory=6GiB 32"]["fits"]
    best = told["rows"][0]
    assert (best["settings"], best["source"]) == ({"batch": "32"}, "rehearsed")
    assert best["command"].endswith("job.py 32")
    # On each GPU the search needs two runs to compute how the memory grows with the batch, one run
    # to test the best choice, and one to test that the next larger batch does not fit.
    assert told["rehearsals"] <= 8
    assert result.stderr.count("vramstow plan: simulated run ") == told["rehearsals"]


def test_the_largest_alone_is_what_fit_finds(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(JOB)
    command = ["--json", "--", sys.executable, job, "{batch}"]
    card = "h100,memory=4GiB"
    told = {}
    for arguments in (
        ["plan", "--largest", "--cards", card, "--batch", "1,2,4..64"],
        ["fit", f"--simulate={card}", "--to", "64"],
    ):
        result = subprocess.run(
            [VRAMSTOW, *arguments, *command],
            capture_output=True,
            text=True,
            timeout=170,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        told[arguments[0]] = json.loads(result.stdout)
    assert told["plan"] == told["fit"]
    assert 16 < told["plan"]["cards"][0]["largest"] < 32
    several = plan(tmp_path, "--largest", "--cards", card, "--x", "1", places="{batch} {x}")
    assert several.returncode == 2 and several.stderr.count("\n") == 1


def test_the_table_names_the_best_the_reasons_and_the_command(tmp_path: Path) -> None:
    result = plan(tmp_path, "--cards", "h100,memory=4GiB", "--batch", "1,2,4..64")
    assert result.returncode == 0, result.stderr
    text = result.stdout
    lines = text.splitlines()
    assert lines[0] == "Fits, with 5% of the GPU's memory free:"
    assert lines[1].split() == ["card", "batch", "peak", "head", "room"]
    assert lines[2].split()[:2] == ["h100,memory=4GiB", "16"]
    assert "Does not fit:\n" in text and "more than the GPU has." in text
    assert lines[-2:] == [
        "To run the first, on h100,memory=4GiB:",
        f"  {sys.executable} {tmp_path / 'job.py'} 16",
    ]


def test_what_runs_and_leaves_too_little_is_tight_everywhere(tmp_path: Path) -> None:
    # According to the fitted line, a batch of 24 leaves some 100 MiB of the GPU free, which is less
    # than 5%. A batch of 16 leaves enough free.
    cards = ("--cards", "h100,memory=4GiB")
    result = plan(tmp_path, *cards, "--batch", "8,16,24,32", "--json")
    assert result.returncode == 0, result.stderr
    found = {name.split()[1]: (row["fits"], row["tight"]) for name, row in rows(result).items()}
    assert found == {
        "8": (True, False),
        "16": (True, False),
        "24": (False, True),
        "32": (False, False),
    }
    alone = plan(tmp_path, *cards, "--batch", "24")
    assert alone.returncode == 1
    assert "{batch} = 24 on h100,memory=4GiB: tight, less than 5% stays free" in alone.stderr
    lines = alone.stdout.splitlines()
    assert lines[:2] == [
        "Nothing fits with 5% of the GPU's memory free.",
        "Tight: fits and leaves less than 5% of the GPU's memory:",
    ]
    assert lines[3].split()[:2] == ["h100,memory=4GiB", "24"]
    half = plan(tmp_path, *cards, "--batch", "8", "--margin", "2.5").stdout
    assert half.startswith("Fits, with 2.5% of the GPU's memory free:\n")
    assert "Does not fit" not in alone.stdout
    assert "To run the first" not in alone.stdout


def test_every_simulated_card_has_rates() -> None:
    told = run_vramstow("run", "--simulate=help", check=True).stdout
    cards = re.findall(r"^  (\w+) +NVIDIA|^  (\w+) +Tesla", told, re.MULTILINE)
    names = {one or other for one, other in cards}
    rates = (ROOT / "base/card_rates.cc").read_text()
    assert len(names) >= 15
    assert names == set(re.findall(r'^    \{"(\w+)",', rates, re.MULTILINE))


def test_cards_that_stay_unused_are_told(tmp_path: Path) -> None:
    result = plan(tmp_path, "--cards", "l4x4", "--batch", "1")
    assert "The command uses 1 of the 4 cards of l4x4;" in result.stdout, result.stderr
    assert "No training step was recognised" in result.stdout


def test_nothing_that_fits_and_a_failing_command_are_told_apart(tmp_path: Path) -> None:
    nothing = plan(tmp_path, "--cards", "h100,memory=1GiB", "--batch", "1,2")
    assert nothing.returncode == 1
    assert nothing.stdout.startswith("Nothing fits.\n")
    assert "It takes 1.22 GiB" in nothing.stdout
    failing = plan(tmp_path, "--cards", "h100", "--batch", "13")
    assert failing.returncode == 2
    assert "exit status 3" in failing.stderr.splitlines()[-1]
    # The job exits with an error for a batch of 13. This does not end the search.
    one = plan(tmp_path, "--cards", "h100,memory=4GiB", "--batch", "1,2,13", "--json")
    assert one.returncode == 0
    assert "exit status 3" in rows(one)["h100,memory=4GiB 13"]["why_not"]
    assert rows(one)["h100,memory=4GiB 2"]["fits"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--cards", "h300x8", "--", "true", "{batch}"], "there is no card 'h300x8'"),
        (["--cards", "h100x99", "--", "true", "{batch}"], "count"),
        (
            ["--cards", "h100x8", "--shard", "2,3", "--", "true", "{shard}"],
            "{shard} = 3 does not divide the 8 ranks of h100x8.",
        ),
        (["--cards", "h100", "--", "true", "{speed}"], "the command has {speed}: list its values"),
        (["--cards", "h100", "--batch", "2", "--", "true"], "has no {batch}"),
        (["--cards", "h100", "--sped", "2", "--", "true"], "--sped"),
        (["--cards", "h100", "--", "true", "{json}"], "{json} has the name of a flag"),
        (["--cards", "h100", "--", "true", "{help}"], "{help} has the name of a flag"),
        (["--cards", "h100", "true", "{speed}"], "the command has {speed}: list its values"),
        (["--cards", "h100", "--keep", "/tmp/a,b", "--", "true", "{batch}"], "has a comma"),
        (["--cards", "h100", "--batch", "9..3", "--", "true", "{batch}"], "--batch: '9..3'"),
        (["--cards", "h100", "--tokens", "many", "--", "true", "{batch}"], "--tokens needs"),
        (["--cards", "h100", "--margin", "95", "--", "true", "{batch}"], "margin"),
        (["--", "true", "{batch}"], "--cards"),
    ],
)
def test_wrong_arguments_get_one_sentence(arguments: list[str], sentence: str) -> None:
    result = run_vramstow("plan", *arguments, timeout=60)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr


def test_a_relative_folder_is_that_of_the_user_and_not_of_the_command(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(f"import os; os.chdir('/')\n{JOB}")
    flags = ["--cards=h100,memory=4GiB", "--batch=1", "--keep", "kept"]
    command = ["--", sys.executable, job, "{batch}"]
    result = run_vramstow("plan", *flags, *command, timeout=170, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert list((tmp_path / "kept/1/traces").glob("*.stow"))


def test_an_interrupt_keeps_what_is_known(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    began = tmp_path / "began"
    slow = f"if batch > 1:\n    import time; open({str(began)!r}, 'w').close(); time.sleep(120)\n"
    job.write_text(JOB.replace("cuda = ctypes", slow + "cuda = ctypes"))
    process = subprocess.Popen(
        [VRAMSTOW, "plan", "--cards=h100", "--batch=1,2,4", "--", sys.executable, job, "{batch}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    assert process.stderr is not None
    assert "simulated run 1" in process.stderr.readline()
    deadline = time.monotonic() + 60
    while not began.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert out.startswith("Interrupted; these are the results so far.\n")
    assert "Does not fit" not in out
    assert "The search did not get to it." in out.partition("\nNot tried:\n")[2]
    assert out.splitlines()[4].split()[:2] == ["h100", "1"]


def test_without_places_what_can_be_changed_from_outside_is_tried(tmp_path: Path) -> None:
    environment = os.environ | {"PYTORCH_ALLOC_CONF": "max_split_size_mb:64"}
    arguments = ("--cards", "h100,memory=4GiB", "--json")
    result = plan(tmp_path, *arguments, places="8", env=environment)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)["rows"]
    assert {row["settings"]["with"] for row in told} == {
        "nothing changed",
        "expandable segments",
        "the pool",
        "the pool and offloading",
    }
    commands = {row["settings"]["with"]: row["command"] for row in told}
    assert commands["expandable segments"].startswith(
        "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True "
    )
    assert commands["the pool"].startswith("vramstow run --pool=on -- ")
    assert all(row["fits"] for row in told)
