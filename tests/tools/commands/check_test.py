"""Tests the comparisons of vramstow check and diff."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from built import VRAMSTOW, Ran, run_program, run_vramstow
from corpus import corpus_file
from installation import write


def vramstow(*arguments: str | Path) -> Ran:
    return run_vramstow(*arguments, timeout=60)


def test_a_run_passes_against_itself_and_fails_against_less(tmp_path: Path) -> None:
    trace = write(tmp_path)
    base = tmp_path / "base.json"
    assert vramstow("check", trace, "--baseline", base).returncode == 2
    assert vramstow("check", trace, "--baseline", base, "--update").returncode == 0
    assert vramstow("check", trace, "--baseline", base).stdout == "passed\n"
    facts = json.loads(base.read_text())
    facts["peak"]["allocated_bytes"] = int(facts["peak"]["allocated_bytes"] / 1.04)
    base.write_text(json.dumps(facts))
    failed = vramstow("check", trace, "--baseline", base)
    assert failed.returncode == 1
    assert "FAILED: peak.allocated_bytes rose from 7.69 MiB to 8.00 MiB." in failed.stdout
    assert vramstow("check", trace, "--baseline", base, "--tolerance", "5%").returncode == 0
    assert vramstow("check", trace, "--baseline", base, "--tolerance", "1MiB").returncode == 0
    told = json.loads(vramstow("check", trace, "--baseline", base, "--json").stdout)
    assert told["passed"] is False
    assert len(told["failures"]) == 1


def test_a_baseline_that_lacks_figures_does_not_pass(tmp_path: Path) -> None:
    trace = write(tmp_path)
    base = tmp_path / "base.json"
    assert vramstow("check", trace, "--baseline", base, "--update").returncode == 0
    facts = json.loads(base.read_text())
    del facts["peak"]["allocated_bytes"]
    base.write_text(json.dumps(facts))
    failed = vramstow("check", trace, "--baseline", base)
    assert failed.returncode == 1
    assert "FAILED: peak.allocated_bytes is not compared, because only this run" in failed.stdout
    del facts["peak"]
    base.write_text(json.dumps(facts))
    assert "peak.reserved_bytes" in vramstow("check", trace, "--baseline", base).stdout


def test_figures_that_only_some_runs_have_are_warned_of(tmp_path: Path) -> None:
    trained = training(tmp_path, "a.csv", 100)
    short = tmp_path / "b.csv"
    short.write_text("".join(trained.read_text().splitlines(keepends=True)[:2]))
    for run, baseline, where in ((short, trained, "the baseline"), (trained, short, "this run")):
        told = vramstow("check", run, "--baseline", baseline, "--tolerance", "1GiB").stdout
        assert "WARNING: steady.peak_bytes, steady.between_bytes are not compared, " in told
        assert f"because only {where} has them." in told


@pytest.mark.parametrize("version", [99, 0, None])
def test_a_baseline_of_another_version_is_refused(tmp_path: Path, version: int | None) -> None:
    trace = write(tmp_path)
    base = tmp_path / "base.json"
    assert vramstow("check", trace, "--baseline", base, "--update").returncode == 0
    facts = json.loads(base.read_text())
    facts["schema"]["version"] = version
    base.write_text(json.dumps(facts))
    refused = vramstow("check", trace, "--baseline", base)
    assert refused.returncode == 2
    assert f"base.json has version {version or 0} of the baseline's format" in refused.stderr


def test_no_output_replaces_a_trace_or_an_input(tmp_path: Path) -> None:
    trace = write(tmp_path)
    recorded = trace.read_bytes()
    link = tmp_path / "link.json"
    link.symlink_to(trace)
    for arguments in (
        ["check", trace, "--baseline", trace, "--update"],
        ["check", trace, "--baseline", link, "--update"],
        ["replay", trace, "--steps", trace],
        ["report", tmp_path, "-o", trace],
        ["export", trace, "--to", "csv", "-o", trace],
        ["collect", "--to", tmp_path / "dataset", "--page", trace],
    ):
        result = vramstow(*arguments)
        assert result.returncode == 2, arguments
        assert " and is not replaced: name another file with -" in result.stderr
        assert result.stderr.count("\n") == 1
        assert trace.read_bytes() == recorded, arguments
    other = tmp_path / "other.csv"
    other.write_text("Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00:0,allocate,0x10,9,0x0\n")
    assert "is the input itself" in vramstow("replay", other, "--steps", other).stderr
    assert other.read_text().startswith("Thread")


def test_a_snapshot_that_begins_with_live_memory_has_a_warning() -> None:
    began_late = corpus_file("lm-medium-ctx128-training.pickle")
    told = json.loads(
        vramstow("check", began_late, "--assert", "peak_allocated < 1TiB", "--json").stdout
    )
    assert told["passed"]
    [warning] = told["warnings"]
    assert "does not show the whole run: live before the first event" in warning
    assert "perhaps also the job's peak): 664 blocks." in warning


def test_what_grew_is_told_with_its_site(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    small = corpus_file("lm-medium-ctx128-training.pickle")
    large = corpus_file("lm-medium-ctx512-training.pickle")
    assert vramstow("check", small, "--baseline", base, "--update").returncode == 0
    failed = vramstow("check", large, "--baseline", base)
    assert failed.returncode == 1
    assert "nn_utils.py:6 softmax" in failed.stdout
    changed = json.loads(vramstow("diff", small, large, "--json").stdout)
    figures = {row["path"]: (row["before"], row["after"]) for row in changed["figures"]}
    assert figures["peak.reserved_bytes"] == (6900 * 2**20, 12074 * 2**20)
    assert changed["sites"][0]["bytes_at_peak_after"] != changed["sites"][0]["bytes_at_peak_before"]
    text = vramstow("diff", small, large)
    assert text.returncode == 0
    assert "peak.reserved_bytes" in text.stdout
    assert "softmax" in text.stdout
    assert "No call site" in vramstow("diff", small, small).stdout


def training(folder: Path, name: str, kept: int) -> Path:
    """Returns ten iterations, recorded by RMM, with `kept` MiB of weights."""
    lines = ["Thread,Time,Action,Pointer,Size,Stream"]

    def add(action: str, pointer: int, mebibytes: int) -> None:
        time = f"10:00:00:{len(lines):06d}"
        lines.append(f"1,{time},{action},0x{pointer:x},{mebibytes << 20},0x0")

    add("allocate", 0x1000, kept)
    for _ in range(10):
        for block in range(4):
            add("allocate", 0x10000 + block, 10 + block)
        for block in range(4):
            add("free", 0x10000 + block, 10 + block)
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def cells(line: str) -> list[str]:
    """Returns the cells of a row of a table, which are separated by bars without a backslash."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_has_the_figures_that_moved_and_the_sites(tmp_path: Path) -> None:
    before, after = training(tmp_path, "a.csv", 100), training(tmp_path, "b.csv", 130)
    told = json.loads(vramstow("diff", before, after, "--to", "json").stdout)
    moved = {row["path"] for row in told["figures"] if row["before"] != row["after"]}
    text = vramstow("diff", before, after, "--to=markdown").stdout
    assert text.startswith("### Device memory: peak 146 MiB → 176 MiB (+20.5%)\n\n|  | before |")
    figures, _, sites = text.partition("<details><summary>1 site with more or less than before")
    rows = [cells(line) for line in figures.splitlines() if line.startswith("|")]
    assert rows[1] == ["---", "---:", "---:", "---:"]
    assert {row[0] for row in rows[2:]} == {f"`{path}`" for path in moved}
    assert ["`steady.peak_bytes`", "146 MiB", "176 MiB", "+30.0 MiB"] in rows
    rows = [cells(line) for line in sites.splitlines() if line.startswith("|")]
    assert len(rows) == 3 and {len(row) for row in rows} == {5}
    assert rows[2][0] == "+30.0 MiB" and sites.endswith("\n</details>\n")
    same = vramstow("diff", before, before, "--to", "markdown").stdout
    assert "(unchanged)\n\nNo figure changed.\n\nNo call site holds" in same
    for wrong in (["--to", "html"], ["--to", "text", "--json"]):
        refused = vramstow("diff", before, after, *wrong)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr


def test_the_steady_state_is_compared_too(tmp_path: Path) -> None:
    before, after = training(tmp_path, "a.csv", 100), training(tmp_path, "b.csv", 130)
    changed = json.loads(vramstow("diff", before, after, "--json").stdout)
    figures = {row["path"]: (row["before"], row["after"]) for row in changed["figures"]}
    mega = 1 << 20
    assert figures["steady.peak_bytes"] == (146 * mega, 176 * mega)
    assert figures["steady.between_bytes"] == (100 * mega, 130 * mega)
    [site] = changed["sites"]
    assert site["bytes_steady_after"] - site["bytes_steady_before"] == 30 * mega
    assert "steady" in vramstow("diff", before, after).stdout
    assert vramstow("check", after, "--assert", "steady_peak <= 150MiB").returncode == 1
    assert vramstow("check", before, "--assert", "steady_peak <= 150MiB").returncode == 0


@pytest.mark.parametrize(
    ("assertion", "status"),
    [
        ("peak_allocated <= 8MiB", 0),
        ("peak_allocated < 8MiB", 1),
        ("peak.allocated_bytes == 8388608 && out_of_memory == 1", 0),
        ("peak_reserved <= 1.1 * peak_allocated", 0),
        ("peak_reserved >= 2 * peak_allocated", 1),
        ("allocations != 2", 1),
        ("peak_allocated", 2),
        ("peak_allocated = 3", 2),
        ("no.such.thing > 1", 2),
        ("peak_allocated <= many", 2),
    ],
)
def test_assertions(tmp_path: Path, assertion: str, status: int) -> None:
    result = vramstow("check", write(tmp_path), "--assert", assertion)
    assert result.returncode == status, result.stdout + result.stderr
    if status == 2:
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
    else:
        assert result.stdout.startswith("passed" if status == 0 else "FAILED: ")


def test_a_sum_over_processes_is_named_as_one(tmp_path: Path) -> None:
    for rank in "01":
        write(tmp_path, RANK=rank)
    write(tmp_path, "many", RANK="2")
    peaks = [
        rank["peak"]["allocated_bytes"]
        for rank in json.loads(vramstow("analyze", tmp_path, "--json").stdout)["ranks"]
    ]
    highest = max(range(3), key=lambda rank: peaks[rank])
    failed = vramstow("check", tmp_path, "--assert", "peak_allocated <= 1B")
    assert failed.returncode == 1
    words = "peak_allocated is the sum of 3 processes; the highest is "
    assert re.search(rf"FAILED: .*1 B\. {words}.*, rank {highest}\.\n", failed.stdout)
    passed = vramstow("check", tmp_path, "--assert", f"peak_allocated == {sum(peaks)}")
    assert passed.stdout.startswith(f"Note: {words}") and passed.stdout.endswith("\npassed\n")
    told = json.loads(
        vramstow("check", tmp_path, "--assert", "peak_allocated > 0", "--json").stdout
    )
    assert len(told["notes"]) == 1
    alone = vramstow("check", tmp_path, "--assert", f"ranks.2.peak.allocated_bytes == {peaks[2]}")
    assert alone.stdout == "passed\n"


def test_a_figure_that_the_input_does_not_have_is_said_not_to_be_known(tmp_path: Path) -> None:
    problem = tmp_path / "problem.csv"
    problem.write_text("id,lower,upper,size\n0,0,5,4\n1,3,9,6\n")
    result = vramstow("check", problem, "--assert", "peak_reserved <= 1GiB")
    assert result.returncode == 2
    assert "'peak_reserved' is not known" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["steady_peak", "steady.between_bytes", "2 * steady_peak"])
def test_a_steady_figure_needs_iterations(tmp_path: Path, name: str) -> None:
    result = vramstow("check", write(tmp_path), "--assert", f"{name} < 1GiB")
    assert result.returncode == 2
    assert f"'{name.split()[-1]}' is not known" in result.stderr
    assert "fewer than 4 iterations" in result.stderr


@pytest.mark.parametrize("number", ["1e30", "inf", "-inf", "nan", "1e300 * 1e300"])
def test_a_number_that_cannot_be_shown_is_refused(tmp_path: Path, number: str) -> None:
    for assertion in (f"peak_reserved >= {number}", f"{number} < allocations"):
        result = vramstow("check", write(tmp_path), "--assert", assertion)
        assert (result.returncode, result.stdout) == (2, "")
        assert f"'{number}' is not a number below 2^64" in result.stderr


def test_figures_with_the_same_text_are_told_exactly(tmp_path: Path) -> None:
    trace = write(tmp_path)
    result = vramstow("check", trace, "--assert", "peak_allocated < 8MiB && 8388609 <= allocations")
    assert "peak_allocated is 8.00 MiB, not < 8.00 MiB." in result.stdout
    result = vramstow("check", trace, "--assert", "peak_allocated > 8388609")
    assert "peak_allocated is 8,388,608 B, not > 8,388,609 B." in result.stdout
    base = tmp_path / "base.json"
    assert vramstow("check", trace, "--baseline", base, "--update").returncode == 0
    facts = json.loads(base.read_text())
    facts["peak"]["allocated_bytes"] -= 512
    facts["counts"]["allocations"] = -1e300
    base.write_text(json.dumps(facts))
    result = vramstow("check", trace, "--baseline", base)
    assert "peak.allocated_bytes rose from 8,388,096 B to 8,388,608 B." in result.stdout
    assert "counts.allocations rose from -1e+300 to 2." in result.stdout


def test_wrong_use_is_one_sentence(tmp_path: Path) -> None:
    trace = write(tmp_path)
    (tmp_path / "base.json").write_text("[]")
    for arguments in (
        ["check", trace],
        ["check", trace, "--update"],
        ["check", trace, "--baseline", tmp_path / "base.json"],
        ["check", trace, "--baseline", trace, "--tolerance", "much"],
        ["check", trace, "--baseline", trace, "--tolerance", "5"],
        ["check", trace, "--baseline", trace, "--tolerance", "0.05"],
        ["check", trace, "--baseline", trace, "--tolerance", "-5%"],
        ["check", tmp_path / "none", "--assert", "allocations > 0"],
        ["diff", trace, tmp_path / "none"],
        ["diff", trace],
    ):
        result = vramstow(*arguments)
        assert result.returncode == 2
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1


def test_a_trace_with_a_part_missing_does_not_pass_without_a_word(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    holds = ["--assert", "frees >= 0"]
    assert vramstow("check", trace, *holds).returncode == 0
    cut = tmp_path / "cut.stow"
    cut.write_bytes(trace.read_bytes()[:60_000])
    told = vramstow("check", cut, *holds)
    assert told.returncode == 1
    assert "is not complete: it shows only what happened in the recorded part" in told.stdout
    shown = vramstow("analyze", cut)
    assert "Healthy" not in shown.stdout
    assert "the rest is not known" in shown.stdout
    killed = vramstow("check", write(tmp_path, "killed"), *holds, "--json")
    verdict = json.loads(killed.stdout)
    assert (killed.returncode, verdict["passed"], len(verdict["warnings"])) == (0, True, 1)


def test_only_what_can_be_judged_becomes_the_baseline(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    base = tmp_path / "base.json"
    update = ["--baseline", base, "--update"]
    assert vramstow("check", trace, *update).returncode == 0
    before = base.read_text()
    misspelt = vramstow("check", write(tmp_path), *update, "--assert", "peak_resrved < 1")
    assert (misspelt.returncode, misspelt.stdout) == (2, "")
    assert base.read_text() == before
    cut = tmp_path / "cut.stow"
    cut.write_bytes(trace.read_bytes()[:60_000])
    refused = vramstow("check", cut, *update)
    assert (refused.returncode, refused.stderr) == (1, "")
    assert "FAILED: no baseline is written" in refused.stdout
    assert "is the baseline now" not in refused.stdout
    assert base.read_text() == before
    assert json.loads(vramstow("check", cut, *update, "--json").stdout)["passed"] is False
    # An assertion that does not hold says nothing about how complete the figures are.
    failed = vramstow("check", write(tmp_path), *update, "--assert", "allocations > 2")
    assert failed.returncode == 1 and "is the baseline now" in failed.stdout
    assert base.read_text() != before


def test_a_failed_program_is_warned_of_and_becomes_no_baseline(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    for env, words in (
        ({"EXIT_STATUS": "3"}, "the program ended with exit status 3"),
        ({"UNCAUGHT": "ValueError"}, "ValueError ended the program"),
        (
            {"UNCAUGHT": "OutOfMemoryError", "EXIT_STATUS": "1"},
            "OutOfMemoryError ended the program, with exit status 1",
        ),
    ):
        failed = write(tmp_path, **env)
        told = vramstow("check", failed, "--assert", "frees >= 0")
        assert told.returncode == 0
        assert re.match(rf"WARNING: .*: {words}; .*\npassed\n$", told.stdout), told.stdout
        refused = vramstow("check", failed, "--baseline", base, "--update")
        assert (refused.returncode, refused.stderr) == (1, "")
        assert "no baseline is written, because the program failed." in refused.stdout
        assert not base.exists()
    continued = vramstow("check", write(tmp_path, EXIT_STATUS="0"), "--baseline", base, "--update")
    assert continued.returncode == 0 and base.exists()
    assert "memory ran out 1 time, and the program continued." in continued.stdout


def test_ranks_that_are_missing_or_new_fail_the_check(tmp_path: Path) -> None:
    whole, part, other = tmp_path / "whole", tmp_path / "part", tmp_path / "other"
    for folder, ranks in ((whole, "012"), (part, "0"), (other, "013")):
        folder.mkdir()
        for rank in ranks:
            write(folder, RANK=rank, VRAMSTOW_RUN_ID=folder.name)
    base = tmp_path / "base.json"
    assert vramstow("check", whole, "--baseline", base, "--update").returncode == 0
    helper = write(whole, "idle", VRAMSTOW_RUN_ID="whole")
    assert vramstow("check", whole, "--baseline", base).stdout == "passed\n"
    nothing = vramstow("check", helper, "--baseline", base)
    assert nothing.returncode == 1
    assert nothing.stdout.startswith("FAILED: 0 processes used memory, and 3 in the baseline, ")
    for baseline in (base, whole):
        told = vramstow("check", part, "--baseline", baseline)
        assert (told.returncode, told.stdout) == (
            1,
            "FAILED: 1 process used memory, and 3 in the baseline; only the baseline has rank 1, "
            "rank 2, so their figures cannot be compared.\n",
        )
    told = vramstow("check", other, "--baseline", base)
    assert told.returncode == 1
    assert "only the baseline has rank 2; only this run has rank 3," in told.stdout


def test_the_help_names_each_figure_that_is_compared(tmp_path: Path) -> None:
    text = vramstow("check", "--help").stdout
    page = (Path(__file__).parents[3] / "docs" / "check.md").read_text()
    names = page.partition("one of these short names:")[2].partition("A figure that the input")[0]
    for name in re.findall(r"`(\w+)`", names):
        assert re.search(rf"\b{name}\b", text), name
    for figure in ("peak of the steady iterations", "memory between", "not enough memory"):
        assert figure in text.replace("\n", " ")


def test_a_trace_that_cannot_be_read_fails_the_check(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    good = write(run, RANK="0")
    (run / "notes.txt").write_text("no trace")
    (run / f"{good.stem}-dump-2.stow").write_text("a copy")
    holds = ["--assert", "allocations > 0"]
    assert vramstow("check", run, *holds).returncode == 0
    (run / "broken.stow").write_text("no trace")
    told = vramstow("check", run, *holds)
    assert told.returncode == 1
    assert told.stdout.startswith("FAILED: ") and "broken.stow" in told.stdout
    verdict = json.loads(vramstow("check", run, *holds, "--json").stdout)
    assert verdict["passed"] is False and len(verdict["failures"]) == 1
    base = tmp_path / "base.json"
    refused = vramstow("check", run, "--baseline", base, "--update")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no baseline is written, because a trace cannot be read" in refused.stderr
    assert not base.exists()
    compared = vramstow("check", good, "--baseline", run)
    assert compared.returncode == 2
    assert "a trace of the baseline cannot be read" in compared.stderr


def test_a_baseline_that_cannot_be_analysed_gets_the_true_reason(tmp_path: Path) -> None:
    trace = write(tmp_path)
    broken = tmp_path / "broken.stow"
    broken.write_text("no trace")
    empty = tmp_path / "empty"
    empty.mkdir()
    of_trace = vramstow("analyze", broken).stderr.partition(": ")[2]
    of_folder = vramstow("analyze", empty).stderr.partition(": ")[2]
    for baseline, reason in ((broken, of_trace), (empty, of_folder)):
        told = vramstow("check", trace, "--baseline", baseline)
        assert (told.returncode, told.stderr) == (2, f"vramstow check: {reason}")


@pytest.mark.parametrize(
    "text",
    [
        '{"peak":1}',
        '{"peak":{"allocated_bytes":1}}',
        '{"schema":{"name":"vramstow.analysis","version":1}}',
        '{"schema":{"name":"vramstow.analysis","version":1},"peak":1}',
    ],
)
def test_a_baseline_with_which_nothing_can_be_compared_is_none(tmp_path: Path, text: str) -> None:
    base = tmp_path / "base.json"
    base.write_text(text)
    result = vramstow("check", write(tmp_path), "--baseline", base)
    assert (result.returncode, result.stdout) == (2, "")
    assert "--update or vramstow analyze --json writes" in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_tolerance_at_all_needs_no_unit(tmp_path: Path) -> None:
    trace = write(tmp_path)
    assert vramstow("check", trace, "--baseline", trace, "--tolerance", "0").returncode == 0


def test_a_trace_is_a_baseline_too(tmp_path: Path) -> None:
    before, after = write(tmp_path), write(tmp_path, "many")
    good = run_vramstow("check", before, "--baseline", before)
    assert (good.returncode, good.stdout) == (0, "passed\n")
    worse = run_vramstow("check", after, "--baseline", before)
    assert worse.returncode == 1
    assert "counts.allocations rose from 2 to" in worse.stdout


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("peak_resrved", "peak_reserved"),
        ("peak.allocated_byte", "peak.allocated_bytes"),
        ("allocated_bytes", "peak.allocated_bytes"),
    ],
)
def test_a_misspelt_name_gets_its_likely_meaning(tmp_path: Path, given: str, meant: str) -> None:
    for assertion in (f"{given} <= 2GiB", f"3 > {given}"):
        result = run_vramstow("check", write(tmp_path), "--assert", assertion)
        assert result.returncode == 2
        assert f"no number '{given}', did you mean {meant}? See" in result.stderr
    unlike = [VRAMSTOW, "check", write(tmp_path), "--assert", "frobnication < 3"]
    assert "did you mean" not in run_program(*unlike).stderr


def test_source_lines_are_not_compared_with_libraries(tmp_path: Path) -> None:
    # A trace without call stacks has no call sites, only libraries.
    small = corpus_file("lm-medium-ctx128-training.pickle")
    large = corpus_file("lm-medium-ctx512-training.pickle")
    base = tmp_path / "base.json"
    assert vramstow("check", small, "--baseline", base, "--update").returncode == 0
    facts = json.loads(base.read_text())
    facts["by_site"] = []
    base.write_text(json.dumps(facts))
    told = json.loads(vramstow("check", large, "--baseline", base, "--json").stdout)
    libraries = {row["library"] for row in facts["by_library"]}
    assert told["sites"]
    for site in told["sites"]:
        assert site.partition(" at the peak: ")[2] in libraries
    risen = (12074 - 6900) * 2**20
    assert sum(map(bytes_of, told["sites"])) < risen * 1.1


def test_several_processes_are_compared_by_call_site(tmp_path: Path) -> None:
    small = corpus_file("lm-medium-ctx128-training.pickle")
    large = corpus_file("lm-medium-ctx512-training.pickle")
    before, after, base = tmp_path / "before", tmp_path / "after", tmp_path / "base.json"
    for folder, second in ((before, small), (after, large)):
        folder.mkdir()
        shutil.copy(small, folder / "0.pickle")
        shutil.copy(second, folder / "1.pickle")
    alone = json.loads(vramstow("check", large, "--baseline", small, "--json").stdout)["sites"]
    assert vramstow("check", before, "--baseline", base, "--update").returncode == 0
    for baseline in (before, base):
        told = json.loads(vramstow("check", after, "--baseline", baseline, "--json").stdout)
        assert told["sites"] == alone
    both, one = (
        json.loads(vramstow("diff", *paths, "--json").stdout)["sites"]
        for paths in ((before, after), (small, large))
    )
    changes = [
        {
            row["site"]: row["bytes_at_peak_after"] - row["bytes_at_peak_before"]
            for row in rows
            if row["bytes_at_peak_after"] != row["bytes_at_peak_before"]
        }
        for rows in (both, one)
    ]
    assert changes[0] == changes[1]
    assert changes[0]


def bytes_of(site: str) -> float:
    """Returns the bytes of a line like "+1.5 GiB at the peak: …"."""
    size, unit = site.removeprefix("+").split()[:2]
    return float(size) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]
