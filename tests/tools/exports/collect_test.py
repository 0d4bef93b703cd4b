"""Tests vramstow collect with real jobs, and with thousands of synthetic ranks whose results are
computed here.

By default it has two thousand synthetic ranks and DuckDB; with VRAMSTOW_LONG_COLLECT=1 a hundred
thousand, and Spark (pyspark of setup/requirements-spark.txt, with a Java).
"""

from __future__ import annotations

import datetime
import json
import os
import random
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import formats_python
import pytest
from built import BUILD, VRAMSTOW, run_program, run_vramstow
from installation import write

LONG = os.environ.get("VRAMSTOW_LONG_COLLECT") == "1"
RANKS = 100_000 if LONG else 2_000
JOBS = 40
PATIENCE_S = 900 if LONG else 120
PARTS = BUILD / "lib/vramstow/export"
QUERIES = ("fleet_waste", "fleet_growth", "fleet_advice")
GIBI = 1 << 30
CARD_BYTES = 80 * GIBI
NS_PER_HOUR = 3_600_000_000_000
FIRST_DAY = datetime.date(2026, 3, 1)

JOB = """
import ctypes, os, sys
for rank in range(3):
    child = os.fork()
    if child == 0:
        os.environ["RANK"] = str(rank)
        cuda = ctypes.CDLL("libcuda.so.1")
        context, address = ctypes.c_void_p(), ctypes.c_uint64()
        assert cuda.cuInit(0) == 0
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert cuda.cuCtxSetCurrent(context) == 0
        for _ in range(rank + int(sys.argv[1])):
            assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(16 << 20)) == 0
        if rank == 2:
            assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 50)) != 0
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
DUCKDB = """
import duckdb, json, sys
for table in ("ranks", "advice", "sizes", "levels"):
    duckdb.sql(f"CREATE VIEW {table} AS SELECT * FROM "
               f"read_parquet('{sys.argv[1]}/{table}/*/*/*.parquet', hive_partitioning = true)")
told = []
for query in sys.argv[2:]:
    found = duckdb.sql(open(query).read() if query.endswith(".sql") else query)
    told.append([dict(zip(found.columns, row)) for row in found.fetchall()])
print(json.dumps(told, default=str))
"""
SPARK = """
import json, sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "4")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
         .getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
for table in ("ranks", "advice"):
    spark.read.parquet(f"{sys.argv[1]}/{table}").createOrReplaceTempView(table)
told = [[row.asDict() for row in spark.sql(open(query).read()).collect()] for query in sys.argv[2:]]
print(json.dumps(told, default=str))
"""


def python() -> str:
    return formats_python.need("duckdb")


def collect(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return run_vramstow(
        "collect",
        *arguments,
        env=os.environ | {"VRAMSTOW_PYTHON": python()} | more,
        timeout=PATIENCE_S,
    )


def ask(dataset: Path, *queries: str | Path) -> list[list[dict[str, Any]]]:
    return json.loads(formats_python.run(DUCKDB, dataset, *queries))


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes two jobs of three ranks, each with its traces in a folder."""
    folder = tmp_path_factory.mktemp("jobs")
    for name, blocks in (("small", "1"), ("large", "5")):
        (folder / name).mkdir()
        flags = ("--simulate=h100", f"--trace-dir={folder / name}")
        subprocess.run(
            [VRAMSTOW, "run", *flags, "--", sys.executable, "-c", JOB, blocks],
            check=True,
            capture_output=True,
            timeout=120,
        )
    return folder


def test_the_rows_are_the_facts_of_each_rank(jobs: Path, tmp_path: Path) -> None:
    done = collect(jobs / "small", f"{jobs}/large/", "--to", tmp_path / "fleet")
    assert done.returncode == 0 and "6 of 6 ranks added" in done.stderr, done.stderr
    [rows, sizes, levels] = ask(
        tmp_path / "fleet",
        "SELECT * FROM ranks ORDER BY job, rank",
        "SELECT job, SUM(allocations) AS blocks FROM sizes GROUP BY job ORDER BY job",
        "SELECT SUM(card_hours) AS hours FROM levels",
    )
    assert [(row["job"], row["rank"]) for row in rows] == [
        *(("large", rank) for rank in range(3)),
        *(("small", rank) for rank in range(3)),
    ]
    for row in rows:
        traces = (jobs / row["job"]).glob(f"*-rank{row['rank']}-{row['process']}.stow")
        told = subprocess.run(
            [VRAMSTOW, "analyze", "--json", next(traces)], check=True, capture_output=True
        )
        facts = json.loads(told.stdout)
        assert row["peak_allocated_bytes"] == facts["peak"]["allocated_bytes"]
        assert row["peak_reserved_bytes"] == facts["peak"]["reserved_bytes"]
        assert row["allocations"] == facts["counts"]["allocations"]
        assert row["out_of_memory"] == (row["rank"] == 2)
        assert row["run"] == facts["facts"]["run.id"] and row["simulated"] is True
        assert row["device_bytes"] == facts["devices"][0]["total_bytes"]
        assert row["card_hours"] == pytest.approx(facts["input"]["duration_ns"] / NS_PER_HOUR)
        started = facts["process"]["start_time_unix_ns"] / 1e9
        assert row["day"] == str(datetime.datetime.fromtimestamp(started, datetime.UTC).date())
    assert sizes == [
        {"job": "large", "blocks": "18"},
        {"job": "small", "blocks": "6"},
    ] or sizes == [
        {"job": "large", "blocks": 18},
        {"job": "small", "blocks": 6},
    ]
    assert levels[0]["hours"] >= sum(row["card_hours"] for row in rows) * 0.5


def test_a_rank_is_added_once_whenever_it_comes(jobs: Path, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    assert collect(jobs / "small", "--to", fleet).returncode == 0
    again = collect(jobs / "small", jobs / "large", "--to", fleet)
    assert again.returncode == 0 and "3 of 6 ranks added, 3 were already there" in again.stderr
    # If --job gives them another name, the same files count as another job.
    assert "3 of 3 ranks" in collect(jobs / "small", "--to", fleet, "--job", "it's 1/2").stderr
    counts = "SELECT job, COUNT(*) AS ranks FROM {} GROUP BY job ORDER BY job"
    [ranks, levels] = ask(fleet, counts.format("ranks"), counts.format("levels"))
    assert ranks == [{"job": job, "ranks": 3} for job in ("it's 1/2", "large", "small")]
    assert {row["job"] for row in levels} == {"it's 1/2", "large", "small"}
    assert not list(fleet.glob(".new-*"))


def lines_of(*changes: dict[str, dict[str, Any]]) -> str:
    """Returns lines of processes of one rank, whose facts differ in what is named."""
    lines = []
    for change in changes:
        line = json.loads(Made().line(0))
        for part, values in change.items():
            line["facts"][part] |= values
        lines.append(json.dumps(line) + "\n")
    return "".join(lines)


def add(fleet: Path, lines: str) -> str:
    """Adds the lines to a dataset as `vramstow collect` does. Returns what is said."""
    done = run_program(*(python(), PARTS / "collect.py", fleet), input=lines, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_further_process_of_a_rank_is_added(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    first, second = {"process": {"pid": 1}}, {"process": {"pid": 2}}
    assert "1 of 1 ranks added" in add(fleet, lines_of(first))
    assert "1 of 2 ranks added" in add(fleet, lines_of(first, second))
    [ranks, sizes] = ask(
        fleet,
        "SELECT process FROM ranks ORDER BY process",
        "SELECT COUNT(*) AS rows, COUNT(DISTINCT day) AS days FROM sizes GROUP BY from_bytes",
    )
    assert [row["process"] for row in ranks] == [1, 2]
    assert sizes and all(row["rows"] == 2 for row in sizes)
    assert "source" not in ask(fleet, "SELECT * FROM ranks")[0][0]


def test_a_launcher_without_a_rank_is_no_rank(tmp_path: Path) -> None:
    job, fleet = tmp_path / "job", tmp_path / "fleet"
    job.mkdir()
    launcher = JOB + "ctypes.CDLL('libcuda.so.1').cuInit(0)\n"
    flags = ("--simulate=h100", f"--trace-dir={job}")
    subprocess.run(
        [VRAMSTOW, "run", *flags, "--", sys.executable, "-c", launcher, "1"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert len(list(job.glob("*.stow"))) == 4
    assert "3 of 3 ranks added" in collect(job, "--to", fleet).stderr
    [ranks] = ask(fleet, "SELECT rank FROM ranks ORDER BY rank")
    assert [row["rank"] for row in ranks] == [0, 1, 2]


def test_a_trace_that_names_no_process_is_added_once(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    unnamed = {"process": {"host": None, "pid": None, "start_time_unix_ns": None}}
    assert "1 of 1 ranks added" in add(fleet, lines_of(unnamed))
    # It was added on another day.
    for table in ("ranks", "advice", "sizes", "levels"):
        for day in (fleet / table).glob("day=*"):
            day.rename(day.with_name("day=2026-01-02"))
    assert "0 of 1 ranks added" in add(fleet, lines_of(unnamed))
    # A trace with other facts is another one.
    other = unnamed | {"counts": {"allocations": 4711}}
    assert "1 of 2 ranks added" in add(fleet, lines_of(unnamed, other))


def test_a_page_shows_the_dataset(jobs: Path, tmp_path: Path) -> None:
    fleet, page = tmp_path / "fleet", tmp_path / "fleet.html"
    made = collect("--to", fleet, "--page", page, "--json")
    assert json.loads(made.stdout) == {"dataset": str(fleet), "ranks": 0, "page": str(page)}
    assert "The dataset is empty." in page.read_text()
    name = "<script>alert(1)</script>"
    assert collect(jobs / "small", "--to", fleet, "--job", name, "--page", page).returncode == 0
    text = page.read_text()
    assert "3 ranks of 1 jobs" in text and "&lt;script&gt;alert(1)" in text
    assert "<script" not in text and "http" not in text


def test_what_is_wrong_is_one_sentence(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    for arguments, status, said in (
        (["--to", tmp_path / "d"], 2, "name folders with traces to add, or a page"),
        ([jobs / "small"], 2, "--to"),
        ([tmp_path / "nowhere", "--to", tmp_path / "d"], 2, "there is no"),
        ([jobs / "small", tmp_path / "empty", "--to", tmp_path / "d"], 2, "contains no trace"),
        ([jobs / "small", "--to", tmp_path / "file/d"], 1, "Not a directory"),
        (["--to", tmp_path / "d", "--page", tmp_path / "no/p.html"], 1, "No such file"),
    ):
        done = collect(*arguments)
        assert done.returncode == status, (arguments, done.stderr)
        assert said in done.stderr and done.stderr.count("\n") == 1, (arguments, done.stderr)
    assert not (tmp_path / "d").exists()
    stand_in = tmp_path / "python"
    stand_in.write_text("#!/bin/sh\nexit 3\n")
    stand_in.chmod(0o755)
    done = collect(jobs / "small", "--to", tmp_path / "d", VRAMSTOW_PYTHON=str(stand_in))
    assert done.returncode == 2 and "pip install duckdb" in done.stderr
    done = collect(jobs / "small", "--to", tmp_path / "d", VRAMSTOW_PYTHON="/no/python")
    assert done.returncode == 2 and "cannot start /no/python" in done.stderr


def test_a_trace_that_cannot_be_read_is_left_out(jobs: Path, tmp_path: Path) -> None:
    shutil.copytree(jobs / "small", tmp_path / "job")
    (tmp_path / "job/broken.stow").write_text("no trace")
    done = collect(tmp_path / "job", "--to", tmp_path / "fleet")
    assert done.returncode == 0 and "3 of 3 ranks added" in done.stderr
    assert "left out: " in done.stderr and "broken.stow" in done.stderr
    assert "also if some traces cannot be read" in collect("--help").stdout.replace("\n", " ")


def test_a_trace_that_lacks_events_is_said_to(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    trace = write(job, "many", RANK="0")
    whole = trace.read_bytes()
    third = len(whole) // 3
    trace.write_bytes(whole[:third] + bytes(third) + whole[2 * third :])
    write(job, RANK="1")
    done = collect(job, "--to", tmp_path / "fleet")
    assert done.returncode == 0 and "2 of 2 ranks added" in done.stderr
    [line] = [line for line in done.stderr.splitlines() if "lower bounds" in line]
    assert trace.name in line


def test_a_figure_beyond_the_columns_does_not_stop_the_others(tmp_path: Path) -> None:
    answers = Made()
    lines = [json.loads(answers.line(number)) for number in range(2)]
    most = (1 << 64) - 1
    facts = lines[1]["facts"]
    facts["peak"]["allocated_bytes"] = most
    facts["process"]["start_time_unix_ns"] = facts["process"]["pid"] = most
    facts["histogram"][0]["total_bytes"] = most
    facts["input"]["duration_ns"] = most
    done = run_program(
        *(python(), PARTS / "collect.py", tmp_path / "fleet"),
        input="".join(json.dumps(line) + "\n" for line in lines),
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert "2 of 2 ranks added" in done.stderr


def test_a_copy_of_a_trace_is_no_further_rank(jobs: Path, tmp_path: Path) -> None:
    shutil.copytree(jobs / "small", tmp_path / "job")
    [trace, *_] = (tmp_path / "job").glob("*.stow")
    for tag in ("oom", "dump", "dump-2"):
        shutil.copy(trace, trace.with_name(f"{trace.stem}-{tag}.stow"))
    done = collect(tmp_path / "job", "--to", tmp_path / "fleet")
    assert done.returncode == 0 and "3 of 3 ranks added" in done.stderr


class Made:
    """Ranks of some jobs over two weeks and a day, and the answers to the queries."""

    def __init__(self) -> None:
        self.waste: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0.0, 0.0])
        self.peaks: dict[tuple[str, bool], int] = defaultdict(int)
        self.advice: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        self.dice = random.Random(7)

    def line(self, number: int) -> str:
        job, day = f"job-{number % JOBS}", number // JOBS % 15
        hours = self.dice.uniform(0.1, 12)
        peak = self.dice.randrange(GIBI, 60 * GIBI)
        reserved = peak + self.dice.randrange(0, 15 * GIBI)
        failures = int(self.dice.random() < 0.02)
        pieces = [
            {"id": name, "place": None, "bytes": self.dice.randrange(GIBI, 90 * GIBI)}
            for name in ("checkpointing", "kept_losses", "larger_batch")
            if self.dice.random() < 0.3
        ]
        sums = self.waste[job]
        sums[0] += 1
        sums[1] += hours
        sums[2] += hours * (CARD_BYTES - reserved) / CARD_BYTES
        sums[3] += hours * (reserved - peak) / CARD_BYTES
        sums[4] += hours * failures
        if day >= 1:
            newest = (job, day >= 8)
            self.peaks[newest] = max(self.peaks[newest], peak)
        for piece in pieces:
            self.advice[piece["id"]][0] += 1
            freed = hours * min(piece["bytes"], CARD_BYTES) / CARD_BYTES
            self.advice[piece["id"]][1] += freed
        moment = datetime.datetime.combine(
            FIRST_DAY + datetime.timedelta(days=day), datetime.time(12), datetime.UTC
        )
        facts = {
            "input": {"duration_ns": int(hours * NS_PER_HOUR)},
            "process": {
                "program": "/usr/bin/python",
                "pid": number,
                "host": f"node{number % 128}",
                "start_time_unix_ns": int(moment.timestamp()) * 10**9,
                "simulated": False,
            },
            "facts": {"run.id": f"run-{day}-{number % JOBS}"},
            "devices": [{"name": "NVIDIA H100", "total_bytes": CARD_BYTES}],
            "counts": {"allocations": 10, "frees": 9, "out_of_memory": failures},
            "peak": {
                "allocated_bytes": peak,
                "reserved_bytes": reserved,
                "requested_bytes": peak,
            },
            "fragmentation": {"unusable_bytes_at_peak": 0},
            "leaks": {"device_bytes": 0},
            "iterations_found": None,
            "advice": pieces,
            "histogram": [
                {
                    "from_bytes": 512,
                    "to_bytes": 1023,
                    "allocations": 10,
                    "total_bytes": 5120,
                    "bytes_at_peak": 512,
                }
            ],
            "timeline": {
                "interval_ns": int(hours * NS_PER_HOUR / 2),
                "allocated_bytes": [peak // 4, peak],
            },
        }
        return json.dumps({"job": job, "rank": number // JOBS // 15, "facts": facts})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Made]:
    """Returns the dataset of the synthetic ranks, appended in two runs."""
    folder = tmp_path_factory.mktemp("made")
    answers = Made()
    lines = [answers.line(number) for number in range(RANKS)]
    for part in (lines[: RANKS // 3], lines[RANKS // 3 :]):
        done = run_program(
            *(python(), PARTS / "collect.py", folder / "fleet", folder / "fleet.html"),
            input="\n".join(part) + "\n",
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        assert f"{len(part)} of {len(part)} ranks added" in done.stderr
    return folder, answers


def check_answers(told: list[list[dict[str, Any]]], answers: Made) -> None:
    waste, growth, advice = told
    names = ("ranks", "card_hours", "unused_card_hours", "kept_card_hours", "lost_card_hours")
    assert {row["job"] for row in waste} == set(answers.waste)
    for row in waste:
        assert [float(row[name]) for name in names] == pytest.approx(answers.waste[row["job"]])
    unused = [float(row["unused_card_hours"]) + float(row["kept_card_hours"]) for row in waste]
    assert unused == sorted(unused, reverse=True)
    before = {job: peak for (job, newest), peak in answers.peaks.items() if not newest}
    grown = {
        job: peak - before[job]
        for (job, newest), peak in answers.peaks.items()
        if newest and job in before and peak > before[job]
    }
    assert grown and {row["job"]: int(row["grown_bytes"]) for row in growth} == grown
    assert [int(row["grown_bytes"]) for row in growth] == sorted(grown.values(), reverse=True)
    assert {row["advice"]: int(row["ranks"]) for row in advice} == {
        name: count for name, (count, _) in answers.advice.items()
    }
    for row in advice:
        assert float(row["freed_card_hours"]) == pytest.approx(answers.advice[row["advice"]][1])
    freed = [float(row["freed_card_hours"]) for row in advice]
    assert freed == sorted(freed, reverse=True)


def test_the_queries_give_the_right_answers_in_duckdb(made: tuple[Path, Made]) -> None:
    folder, answers = made
    check_answers(ask(folder / "fleet", *(PARTS / f"{name}.sql" for name in QUERIES)), answers)


def test_the_dataset_is_by_day_and_job_and_small(made: tuple[Path, Made]) -> None:
    folder, _ = made
    files = list((folder / "fleet/ranks").rglob("*.parquet"))
    assert {file.parent.name.split("=")[0] for file in files} == {"job"}
    assert len({file.parent for file in files}) == JOBS * 15
    # The size depends on facts, not on events: some hundred bytes for each rank, and a fixed size
    # of the file.
    every = [file for file in (folder / "fleet").rglob("*.parquet")]
    total = sum(file.stat().st_size for file in every)
    assert total < RANKS * 600 + len(every) * 8_000


def test_the_page_tells_of_all_of_them(made: tuple[Path, Made]) -> None:
    folder, answers = made
    page = (folder / "fleet.html").read_text()
    assert f"{RANKS:,} ranks of {JOBS} jobs, {FIRST_DAY} to " in page
    assert all(f"<td>{job}</td>" in page for job in answers.waste)
    assert len(page) < 100_000


@pytest.mark.skipif(not LONG, reason="Spark is for VRAMSTOW_LONG_COLLECT=1")
def test_the_same_text_gives_them_in_spark(made: tuple[Path, Made]) -> None:
    folder, answers = made
    spark = os.environ.get("VRAMSTOW_SPARK_PYTHON", sys.executable)
    has_spark = subprocess.run([spark, "-c", "import pyspark"], capture_output=True, check=False)
    if has_spark.returncode != 0 or shutil.which("java") is None:
        pytest.skip("needs pyspark (setup/requirements-spark.txt) and a Java")
    queries = [PARTS / f"{name}.sql" for name in QUERIES]
    told = run_program(spark, "-c", SPARK, folder / "fleet", *queries, timeout=PATIENCE_S)
    assert told.returncode == 0, told.stderr[-3000:]
    check_answers(json.loads(told.stdout.splitlines()[-1]), answers)
