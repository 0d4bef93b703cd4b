"""Exports a job of many ranks, as of several machines, to Parquet by rank, queries it with the
shipped SQL in DuckDB and in Spark, and compares the results with vramstow analyze.

By default it has twelve ranks and DuckDB; with VRAMSTOW_LONG_MANY_RANKS=1 a thousand, and Spark
(pyspark of setup/requirements-spark.txt, with a Java).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import formats_python
import pytest
from built import VRAMSTOW, run_program
from export_binary_test import DUCKDB, FACTS_SQL, check_rows

LONG = os.environ.get("VRAMSTOW_LONG_MANY_RANKS") == "1"
RANKS = 1000 if LONG else 12
PATIENCE_S = 500 if LONG else 120

# Each rank is a process of its own on the simulated driver: it makes random allocations and frees,
# every seventh rank runs out of memory once, every hundredth is a straggler.
JOB = """
import ctypes, os, random, sys
def rank_of_job(rank):
    os.environ["RANK"] = str(rank)
    dice = random.Random(rank)
    cuda = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    live = []
    for step in range(40):
        size = dice.randrange(1, 64) << 20
        if rank % 100 == 99 and step == 20:
            size = 2 << 30
        if rank % 7 == 3 and step == 30:
            size = 1 << 50
        if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0:
            live.append(address.value)
        else:
            assert size == 1 << 50
        if len(live) > 5:
            assert cuda.cuMemFree_v2(ctypes.c_uint64(live.pop(dice.randrange(len(live))))) == 0
for rank in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        rank_of_job(rank)
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""

SPARK = """
import json, sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "4")
         .config("spark.sql.files.openCostInBytes", "65536")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
         .getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
spark.read.parquet(sys.argv[1]).createOrReplaceTempView("events")
rows = spark.sql(open(sys.argv[2]).read()).collect()
print(json.dumps([row.asDict() for row in rows]))
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Returns the folder with the Parquet files, and the facts of each rank."""
    python = formats_python.need("pyarrow.parquet", "duckdb")
    folder = tmp_path_factory.mktemp("many_ranks")
    traces = folder / "traces"
    traces.mkdir()
    flags = ("--simulate=h100,memory=8GiB", f"--trace-dir={traces}")
    subprocess.run(
        [VRAMSTOW, "run", *flags, "--", sys.executable, "-c", JOB, str(RANKS)],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    told = subprocess.run(
        [VRAMSTOW, "analyze", "--json", traces],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    ranks = json.loads(told.stdout)["ranks"]
    subprocess.run(
        [VRAMSTOW, "export", traces, "--to", "parquet", "-o", folder / "job"],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
        env=os.environ | {"VRAMSTOW_PYTHON": python},
    )
    shutil.rmtree(traces)
    return folder / "job", ranks


def test_every_rank_is_told(job: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, ranks = job
    assert [rank["process"]["rank"] for rank in ranks] == list(range(RANKS))
    assert len(list(folder.glob("rank=*/*.parquet"))) == RANKS
    stragglers = [r["process"]["rank"] for r in ranks if r["peak"]["allocated_bytes"] > 2 << 30]
    assert stragglers == list(range(99, RANKS, 100))
    refused = [r["process"]["rank"] for r in ranks if r["counts"]["out_of_memory"] > 0]
    assert refused == list(range(3, RANKS, 7))


def test_duckdb_gives_the_facts(job: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, ranks = job
    check_rows(json.loads(formats_python.run(DUCKDB, folder, FACTS_SQL)), ranks)


@pytest.mark.skipif(not LONG, reason="Spark is for VRAMSTOW_LONG_MANY_RANKS=1")
def test_spark_gives_the_facts(job: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, ranks = job
    python = os.environ.get("VRAMSTOW_SPARK_PYTHON", sys.executable)
    has_spark = subprocess.run([python, "-c", "import pyspark"], capture_output=True, check=False)
    if has_spark.returncode != 0 or shutil.which("java") is None:
        pytest.skip(
            f"{python} has no pyspark (pip install -r setup/requirements-spark.txt), or no Java"
        )
    result = run_program(
        *(python, "-c", SPARK, folder, FACTS_SQL),
        timeout=PATIENCE_S,
        env=os.environ | {"PYSPARK_PYTHON": python},
    )
    assert result.returncode == 0, result.stderr
    check_rows(json.loads(result.stdout.splitlines()[-1]), ranks)
