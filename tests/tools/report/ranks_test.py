"""A job of 64 ranks on eight simulated GPUs: its traces are merged, and its ranks compared."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser
from built import VRAMSTOW, run_program
from installation import analyze, write
from report_page_test import look_up

RANKS = 64
STRAGGLER = 37
# A C library that allocates the cache of each rank, so that the cache has a call site of its own.
# The program RANK below is the job of a rank. All ranks do nearly the same, but one of them, the
# straggler, has a far larger cache.
LIBRARY = r"""
int keep(int (*take)(unsigned long long*, unsigned long), unsigned long bytes) {
  unsigned long long address;
  int result = take(&address, bytes);
  return result; /* not a tail call: the caller is this library */
}
"""
RANK = r"""
#include <dlfcn.h>
#include <stdlib.h>
int keep(int (*take)(unsigned long long*, unsigned long), unsigned long bytes);
int main(void) {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(cuda, "cuInit");
  int (*retain)(void**, int) = (int (*)(void**, int))dlsym(cuda, "cuDevicePrimaryCtxRetain");
  int (*set)(void*) = (int (*)(void*))dlsym(cuda, "cuCtxSetCurrent");
  int (*take)(unsigned long long*, unsigned long) =
      (int (*)(unsigned long long*, unsigned long))dlsym(cuda, "cuMemAlloc_v2");
  int (*give)(unsigned long long) = (int (*)(unsigned long long))dlsym(cuda, "cuMemFree_v2");
  int rank = atoi(getenv("RANK"));
  void* context;
  unsigned long long parameters, activations;
  if (init(0) || retain(&context, atoi(getenv("LOCAL_RANK"))) || set(context)) return 1;
  if (take(&parameters, 256ul << 20)) return 2;
  if (keep(take, (rank == STRAGGLER ? 192ul : 32ul) << 20)) return 3;
  for (int step = 0; step < 3; ++step) {
    if (take(&activations, (64ul + rank % 2 * 4) << 20) || give(activations)) return 4;
  }
  return 0;
}
"""
LAUNCHER = """
for rank in $(seq 0 63); do
  RANK=$rank LOCAL_RANK=$((rank % 8)) ./rank &
  # At most eight ranks run at a time, because this machine is not a cluster.
  [ $((rank % 8)) = 7 ] && wait
done
wait
"""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    (folder / "keep.c").write_text(LIBRARY)
    (folder / "rank.c").write_text(RANK)
    for command in (
        "gcc -shared -fPIC -O0 keep.c -o libkeepcache.so",
        f"gcc -O0 -DSTRAGGLER={STRAGGLER} rank.c -o rank -L. -lkeepcache -Wl,-rpath,$PWD",
    ):
        subprocess.run(["sh", "-c", command], cwd=folder, check=True, timeout=60)
    (folder / "traces").mkdir()
    done = run_program(
        *(VRAMSTOW, "run", "--simulate=h100,count=8", "--trace-dir=traces"),
        *("--", "sh", "-c", LAUNCHER),
        cwd=folder,
        timeout=150,
        check=True,
    )
    assert "64 processes (64 ranks)" in done.stderr
    return folder / "traces"


@pytest.fixture(scope="module")
def facts(traces: Path) -> dict[str, Any]:
    return json.loads(analyze("--json", traces).stdout)


def test_every_rank_has_its_trace_and_all_add_up(traces: Path, facts: dict[str, Any]) -> None:
    assert len(list(traces.glob("rank-*-rank*.stow"))) == RANKS
    assert [rank["process"]["rank"] for rank in facts["ranks"]] == list(range(RANKS))
    assert facts["input"]["traces"] == RANKS
    expected = sum(256 + (192 if rank == STRAGGLER else 32) + 64 + rank % 2 * 4
                   for rank in range(RANKS))  # fmt: skip
    assert facts["peak"]["allocated_bytes"] == expected << 20
    assert facts["counts"]["allocations"] == RANKS * 5
    assert facts["input"]["complete"]


def test_the_straggler_is_found_with_what_makes_it_one(facts: dict[str, Any]) -> None:
    compared = facts["rank_comparison"]
    assert compared["ranks"] == RANKS
    assert not compared["balanced"]
    # Half of the ranks have a peak of 352 MiB, the other half 356 MiB.
    peak = compared["figures"]["peak_reserved_bytes"]
    assert peak["median"] == 354 << 20
    assert (peak["most_rank"], peak["most"]) == (STRAGGLER, 516 << 20)
    assert (peak["least_rank"], peak["least"]) == (0, 352 << 20)
    straggler = compared["straggler"]
    assert straggler["rank"] == STRAGGLER
    assert straggler["over_median_bytes"] == 162 << 20
    [first, *_] = straggler["sites"]
    assert "libkeepcache" in first["site"]
    assert first["bytes_at_peak"] == 192 << 20
    assert first["median_bytes_at_peak"] == 32 << 20
    assert compared["figures"]["live_at_end_bytes"]["most_rank"] == STRAGGLER
    assert compared["figures"]["allocations"]["most"] == 5


def test_the_text_says_who_by_how_much_and_why(traces: Path) -> None:
    text = analyze("--full", traces).stdout
    assert re.search(rf"The straggler is rank {STRAGGLER} on \S+: it reserved 516 MiB,", text)
    assert "162 MiB (46%) above" in " ".join(text.split())
    assert f"what rank {STRAGGLER} held at its peak above the median" in text
    assert re.search(r"\+160 MiB\s+libkeepcache", text)
    assert "The 8 with the highest peak of 64" in text
    # The text shows seven of the other 63 ranks, so that it stays readable.
    assert len(re.findall(r"^rank \d+ ", text, re.MULTILINE)) == 8
    section = text.partition("── Ranks compared")[2].partition("\n── ")[0]
    assert max(map(len, section.splitlines()[1:])) <= 80


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: setup/packages-test.txt names it")
def test_the_page_tells_the_same_and_leads_to_each_rank(
    traces: Path, facts: dict[str, Any], tmp_path: Path
) -> None:
    page = tmp_path / "ranks.html"
    subprocess.run([VRAMSTOW, "report", traces, "-o", page], check=True, timeout=120)
    browser = Browser()
    try:
        browser.open(page)
        figures = browser.run(
            "[...document.querySelectorAll('#ranks [data-fact]')]"
            ".map(e => [e.dataset.fact, e.dataset.value])"
        )
        assert len(figures) > 12
        for path, value in figures:
            assert json.dumps(look_up(facts, path)) == value, path
        text = browser.run("document.getElementById('ranks').textContent")
        assert f"The straggler is rank {STRAGGLER}" in text
        assert "162 MiB (46%) above the median" in text
        assert "The 16 of 64 with the highest peak" in text
        chosen = "document.getElementById('trace').selectedOptions[0].textContent"
        assert browser.run(chosen) == "rank 0"
        browser.run("document.querySelector('#ranks tr.link').click()")
        assert browser.run(chosen) == f"rank {STRAGGLER}"
        peak = "document.querySelector('#tiles [data-fact=\"peak.reserved_bytes\"]').dataset.value"
        assert browser.run(peak) == str(516 << 20)
        assert browser.errors == []
    finally:
        browser.close()


def test_what_each_rank_keeps_alike_is_one_line(facts: dict[str, Any]) -> None:
    groups = [group for group in facts["leaks"]["groups"] if group["bytes"] == 256 << 20]
    assert [(group["blocks"], group["device"]) for group in groups] == [(RANKS, None)]


def test_ranks_that_are_alike_are_said_to_be(tmp_path: Path) -> None:
    for rank in range(3):
        write(tmp_path, RANK=str(rank))
    assert "3 ranks. The ranks are alike" in analyze(tmp_path).stdout
    text = analyze("--full", tmp_path).stdout
    assert "3 ranks. The ranks are alike" in text
    assert "held at its peak above" not in text
    compared = json.loads(analyze("--json", tmp_path).stdout)["rank_comparison"]
    assert compared["balanced"] and compared["straggler"]["sites"] == []


def test_one_trace_is_compared_with_nobody(tmp_path: Path) -> None:
    trace = write(tmp_path, RANK="0")
    assert json.loads(analyze("--json", trace).stdout)["rank_comparison"] is None
    assert "Ranks compared" not in analyze("--full", trace).stdout
