"""Exports to binary formats and converts; the tools that define the formats read the files back."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import formats_python
import pytest
from built import BUILD, VRAMSTOW, Ran, run_program, run_vramstow
from corpus import corpus_file
from export_test import export
from installation import analyze, write

SNAPSHOTS = (
    "lm-small-forward-bf16.pickle",
    "lm-medium-ctx512-training.pickle",
    "flexgen-2023-old-format.pickle",
    "rl-training-pools-no-events.pickle",
)


def facts(path: Path) -> dict[str, Any]:
    result = analyze("--json", path)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def convert(*arguments: str | Path) -> Ran:
    return run_vramstow("convert", *arguments, timeout=60)


def memory_viz() -> Path:
    """Returns PyTorch's own script, which runs without PyTorch."""
    for folder in sys.path:
        path = Path(folder) / "torch/cuda/_memory_viz.py"
        if path.exists():
            return path
    pytest.skip("torch is not installed, and with it its _memory_viz.py")


def essence(of: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields that must be equal after reading back."""
    counts = {
        name: of["counts"][name]
        for name in ("allocations", "frees", "out_of_memory", "frees_of_unseen")
    }
    peak = {
        name: of["peak"][name] for name in ("allocated_bytes", "reserved_bytes", "requested_bytes")
    }
    sites = [(s["site"], s["operation"], s["bytes_at_peak"]) for s in of["by_site"][:20]]
    return {"counts": counts, "peak": peak, "sites": sites, "leaks": of["leaks"]["device_bytes"]}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_gives_the_same_facts_again(tmp_path: Path, name: str) -> None:
    again = tmp_path / "again.pickle"
    assert export(corpus_file(name), "--to", "snapshot", "-o", again).returncode == 0
    before, after = facts(corpus_file(name)), facts(again)
    assert after["snapshot"] == before["snapshot"]
    # The file "flexgen" is the exception. Its recording begins between a free and the free's
    # completion, which the viewer cannot show. So the export writes the free, too, and the block
    # counts as live before it.
    if not name.startswith("flexgen"):
        assert essence(after) == essence(before)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_converted_snapshot_gives_the_same_facts(tmp_path: Path, name: str) -> None:
    trace = tmp_path / "run.stow"
    result = convert(corpus_file(name), "-o", trace)
    assert result.returncode == 0, result.stderr
    before, after = facts(corpus_file(name)), facts(trace)
    assert after["input"]["kind"] == "stow"
    assert essence(after) == essence(before)
    assert after["fragmentation"]["hole_count"] == before["fragmentation"]["hole_count"]
    if name.startswith("flexgen"):
        return
    # The trace that was made from the snapshot is exported as a snapshot again.
    back = tmp_path / "back.pickle"
    assert export(trace, "--to", "snapshot", "-o", back).returncode == 0
    again = facts(back)
    assert essence(again)["peak"] == essence(before)["peak"]
    assert essence(again)["counts"] == essence(before)["counts"]
    for key in ("reserved_bytes", "allocated_bytes", "segments"):
        assert again["snapshot"][key] == before["snapshot"][key]


def test_a_trace_of_the_driver_is_a_snapshot(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    snapshot = tmp_path / "snapshot.pickle"
    assert export(trace, "--to", "snapshot", "-o", snapshot).returncode == 0
    before, after = facts(trace), facts(snapshot)
    assert after["peak"]["allocated_bytes"] == before["peak"]["allocated_bytes"]
    assert after["peak"]["reserved_bytes"] == before["peak"]["reserved_bytes"]
    assert after["counts"]["allocations"] == before["counts"]["allocations"]
    assert after["counts"]["out_of_memory"] == before["counts"]["out_of_memory"] == 1
    assert after["snapshot"]["allocated_bytes"] == before["leaks"]["device_bytes"]


def test_pytorchs_own_script_reads_the_snapshot(tmp_path: Path) -> None:
    script = memory_viz()
    trace = write(tmp_path)
    source = corpus_file("lm-small-forward-bf16.pickle")
    for number, origin in enumerate((trace, source)):
        snapshot = tmp_path / f"{number}.pickle"
        assert export(origin, "--to", "snapshot", "-o", snapshot).returncode == 0
        told = {}
        for command in ("stats", "trace", "memory", "segments"):
            result = run_program(
                *(
                    [sys.executable, script, command, snapshot, "-o", tmp_path / "out.svg"]
                    if command in ("memory", "segments")
                    else [sys.executable, script, command, snapshot]
                ),
                timeout=120,
                cwd=tmp_path,
            )
            told[command] = result
        for command in ("stats", "trace"):
            assert told[command].returncode == 0, told[command].stderr
        plot = run_program(
            *(sys.executable, script, "trace_plot", snapshot, "-o", tmp_path / "plot.html"),
            timeout=120,
        )
        assert plot.returncode == 0, plot.stderr
        assert (tmp_path / "plot.html").stat().st_size > 1000
        if origin is trace:
            assert "5.0MiB" in told["stats"].stdout.replace(" ", "")


PPROF = """
import gzip, sys, json
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
F = descriptor_pb2.FieldDescriptorProto
file = descriptor_pb2.FileDescriptorProto(name='p.proto', package='p', syntax='proto3')
def message(name, *fields):
    m = file.message_type.add(name=name)
    for number, label, kind, field in fields:
        f = m.field.add(name=field, number=number,
                        label=F.LABEL_REPEATED if label else F.LABEL_OPTIONAL)
        if isinstance(kind, str):
            f.type, f.type_name = F.TYPE_MESSAGE, '.p.' + kind
        else:
            f.type = kind
I, U, S, B = F.TYPE_INT64, F.TYPE_UINT64, F.TYPE_STRING, F.TYPE_BOOL
message('ValueType', (1, 0, I, 'type'), (2, 0, I, 'unit'))
message('Sample', (1, 1, U, 'location_id'), (2, 1, I, 'value'))
message('Mapping', (1, 0, U, 'id'), (5, 0, I, 'filename'), (7, 0, B, 'has_functions'))
message('Line', (1, 0, U, 'function_id'), (2, 0, I, 'line'))
message('Location', (1, 0, U, 'id'), (2, 0, U, 'mapping_id'), (4, 1, 'Line', 'line'))
message('Function', (1, 0, U, 'id'), (2, 0, I, 'name'), (3, 0, I, 'system_name'),
        (4, 0, I, 'filename'))
message('Profile', (1, 1, 'ValueType', 'sample_type'), (2, 1, 'Sample', 'sample'),
        (3, 1, 'Mapping', 'mapping'), (4, 1, 'Location', 'location'),
        (5, 1, 'Function', 'function'), (6, 1, S, 'string_table'), (9, 0, I, 'time_nanos'),
        (10, 0, I, 'duration_nanos'), (11, 0, 'ValueType', 'period_type'), (12, 0, I, 'period'),
        (13, 1, I, 'comment'), (14, 0, I, 'default_sample_type'))
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
profile = message_factory.GetMessageClass(pool.FindMessageTypeByName('p.Profile'))()
profile.ParseFromString(gzip.open(sys.argv[1]).read())
text = profile.string_table
assert text[0] == ''
functions = {f.id: text[f.name] for f in profile.function}
files = {f.id: text[f.filename] for f in profile.function}
locations = {l.id: [(line.function_id, line.line) for line in l.line] for l in profile.location}
assert all(i in locations for s in profile.sample for i in s.location_id)
assert all(f in functions for lines in locations.values() for f, _ in lines)
print(json.dumps({
    'types': [text[t.type] + '/' + text[t.unit] for t in profile.sample_type],
    'sums': [sum(s.value[i] for s in profile.sample) for i in range(4)],
    'leaves': sorted({functions[locations[s.location_id[0]][0][0]] for s in profile.sample}),
    'files': sorted(set(files.values())),
    'default': text[profile.default_sample_type],
}))
"""


def test_pprof_adds_up_to_the_peak(tmp_path: Path) -> None:
    formats_python.need("google.protobuf")
    snapshot = corpus_file("lm-medium-ctx512-training.pickle")
    profile = tmp_path / "run.pb.gz"
    assert export(snapshot, "--to", "pprof", "-o", profile).returncode == 0
    told = json.loads(formats_python.run(PPROF, profile))
    run = facts(snapshot)
    assert told["types"] == [
        "alloc_objects/count",
        "alloc_space/bytes",
        "inuse_objects/count",
        "inuse_space/bytes",
    ]
    assert told["sums"][0] == run["counts"]["allocations"]
    assert told["sums"][3] == run["peak"]["allocated_bytes"]
    assert told["default"] == "inuse_space"
    assert "model.py" in told["files"]
    # The first frame of a stack is the innermost one, which is an operator of PyTorch.
    assert any(leaf.startswith("aten::") for leaf in told["leaves"])


def test_gos_own_pprof_reads_the_profile(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not installed (Debian: golang-go): go tool pprof is not asked")
    snapshot = corpus_file("lm-medium-ctx512-training.pickle")
    profile = tmp_path / "run.pb.gz"
    assert export(snapshot, "--to", "pprof", "-o", profile).returncode == 0
    environment = os.environ | {"HOME": str(tmp_path), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    run = facts(snapshot)
    for index, total in (
        ("inuse_space", run["peak"]["allocated_bytes"]),
        ("alloc_objects", run["counts"]["allocations"]),
    ):
        result = run_program(
            *(go, "tool", "pprof", "-unit=B", f"-sample_index={index}", "-top", profile),
            timeout=120,
            env=environment,
            cwd=tmp_path,
        )
        assert result.returncode == 0, result.stderr
        assert f"Type: {index}" in result.stdout
        # pprof prints "Showing nodes accounting for 7B, 70% of 10B total".
        told = re.search(r"of (\d+)\D*total", result.stdout)
        assert told is not None, result.stdout
        assert int(told[1]) == total
        assert "model.py" in result.stdout or "aten::" in result.stdout


PERFETTO = """
import json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as p
trace = p.Trace()
data = open(sys.argv[1], 'rb').read()
trace.ParseFromString(data)
# Fields that the published messages do not define would be lost.
for packet in trace.packet:
    assert packet.ByteSize() == len(packet.SerializeToString())
    known = packet.ListFields()
    assert known
    packet.DiscardUnknownFields()
assert sum(1 for _ in trace.packet) > 0 and len(trace.SerializeToString()) == len(data)
tracks = {q.track_descriptor.uuid: q.track_descriptor for q in trace.packet
          if q.HasField('track_descriptor')}
highest, marks, times = {}, [], []
for q in trace.packet:
    if not q.HasField('track_event'):
        continue
    e = q.track_event
    assert e.track_uuid in tracks
    times.append(q.timestamp)
    name = tracks[e.track_uuid].name
    if e.type == p.TrackEvent.TYPE_COUNTER:
        highest[name] = max(highest.get(name, 0), e.counter_value)
        assert tracks[e.track_uuid].counter.unit == p.CounterDescriptor.UNIT_SIZE_BYTES
    else:
        marks.append(p.TrackEvent.Type.Name(e.type))
print(json.dumps({'highest': highest, 'marks': marks}))
"""


def test_perfettos_own_messages_read_the_trace(tmp_path: Path) -> None:
    formats_python.need("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    snapshot = corpus_file("lm-medium-ctx128-training.pickle")
    trace = tmp_path / "run.pftrace"
    assert export(snapshot, "--to", "perfetto", "-o", trace).returncode == 0
    told = json.loads(formats_python.run(PERFETTO, trace))
    run = facts(snapshot)
    assert told["highest"]["allocated"] == run["peak"]["allocated_bytes"]
    assert told["highest"]["reserved"] == run["peak"]["reserved_bytes"]
    assert told["highest"]["requested"] == run["peak"]["requested_bytes"]
    assert told["marks"] == ["TYPE_SLICE_BEGIN", "TYPE_SLICE_END"]


DUCKDB = """
import json, sys, duckdb
connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
connection.execute("CREATE VIEW events AS SELECT * FROM read_parquet('" + sys.argv[1]
                   + "/*/*.parquet', hive_partitioning = true)")
result = connection.execute(open(sys.argv[2]).read())
names = [column[0] for column in result.description]
print(json.dumps([dict(zip(names, row)) for row in result.fetchall()]))
"""
FACTS_SQL = BUILD / "lib/vramstow/export/facts.sql"


def check_rows(rows: list[dict[str, Any]], ranks: list[dict[str, Any]]) -> None:
    assert len(rows) == len(ranks)
    least = min(rank["peak"]["allocated_bytes"] for rank in ranks)
    for row, rank in zip(rows, ranks, strict=True):
        assert row["peak_allocated_bytes"] == rank["peak"]["allocated_bytes"]
        assert row["peak_reserved_bytes"] == rank["peak"]["reserved_bytes"]
        for name in ("allocations", "frees", "out_of_memory"):
            assert row[name] == rank["counts"][name], name
        assert row["bytes_over_the_smallest"] == rank["peak"]["allocated_bytes"] - least


def test_queries_over_parquet_give_the_facts(tmp_path: Path) -> None:
    python = formats_python.need("pyarrow.parquet", "duckdb")
    ranks = tmp_path / "ranks"
    ranks.mkdir()
    for rank, scenario in enumerate(("small", "many", "killed", "refused")):
        write(ranks, scenario, RANK=str(rank))
    (ranks / "stranger.txt").write_text("hello")
    out = tmp_path / "job"
    environment = {"VRAMSTOW_PYTHON": python, "PATH": "/usr/bin:/bin"}
    result = export(ranks, "--to", "parquet", "-o", out, env=environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert "stranger.txt" in result.stderr
    assert sorted(path.name for path in out.iterdir()) == [f"rank={n}" for n in range(4)]
    rows = json.loads(formats_python.run(DUCKDB, out, FACTS_SQL))
    check_rows(rows, facts(ranks)["ranks"])
    again = export(ranks, "--to", "parquet", "-o", out, env=environment)
    assert again.returncode == 2
    assert "is not empty" in again.stderr


def test_parquet_of_a_snapshot_has_its_levels(tmp_path: Path) -> None:
    python = formats_python.need("pyarrow.parquet", "duckdb")
    snapshot = corpus_file("lm-medium-ctx128-training.pickle")
    out = tmp_path / "job"
    result = export(
        snapshot, "--to", "parquet", "-o", out, env={"VRAMSTOW_PYTHON": python, "PATH": "/bin"}
    )
    assert result.returncode == 0, result.stderr
    check_rows(json.loads(formats_python.run(DUCKDB, out, FACTS_SQL)), [facts(snapshot)])


def test_two_inputs_of_one_rank_and_name_are_two_files(tmp_path: Path) -> None:
    python = formats_python.need("pyarrow.parquet")
    traces = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        trace = write(tmp_path / name, RANK="3")
        traces.append(trace.rename(trace.with_name("run.stow")))
    out = tmp_path / "job"
    environment = {"VRAMSTOW_PYTHON": python, "PATH": "/usr/bin:/bin"}
    result = export(*traces, "--to", "parquet", "-o", out, env=environment)
    assert result.returncode == 0, result.stderr
    names = sorted(path.name for path in (out / "rank=3").iterdir())
    assert names == ["run-2.parquet", "run.parquet"]


def test_an_export_that_is_killed_leaves_no_half_of_a_parquet_file(tmp_path: Path) -> None:
    python = formats_python.need("pyarrow.parquet")
    # The helper gets all pieces of one file, but not the line that ends the data.
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\ncat > {tmp_path}/pieces\n")
    stand_in.chmod(0o755)
    out = tmp_path / "job"
    environment = {"VRAMSTOW_PYTHON": str(stand_in), "PATH": "/usr/bin:/bin"}
    trace = write(tmp_path, "many")
    assert export(trace, "--to", "parquet", "-o", out, env=environment).returncode == 0
    pieces, end = (tmp_path / "pieces").read_bytes(), b'{"end":true}\n'
    assert pieces.endswith(end)
    helper = [python, BUILD / "lib/vramstow/export/write_parquet.py"]
    for given, files in ((pieces.removesuffix(end), 0), (pieces, 1)):
        subprocess.run([*helper, out], input=given, check=False, timeout=60)
        assert len([path for path in out.rglob("*") if path.is_file()]) == files


def test_a_full_disk_leaves_no_half_of_a_parquet_file(tmp_path: Path) -> None:
    python = formats_python.need("pyarrow.parquet")
    trace = write(tmp_path, "many")
    out = tmp_path / "job"
    result = run_program(
        *("sh", "-c", 'ulimit -f 8; exec "$@"', "sh"),
        *(VRAMSTOW, "export", trace, "--to", "parquet", "-o", out),
        env={"VRAMSTOW_PYTHON": python, "PATH": "/usr/bin:/bin"},
        timeout=60,
    )
    assert result.returncode == 1, result.stderr
    assert result.stderr == f"vramstow export: cannot write {out}: File too large.\n"
    assert [path for path in out.rglob("*") if path.is_file()] == []


def test_a_helper_that_is_interrupted_is_not_said_to_lack_room(tmp_path: Path) -> None:
    stopped = tmp_path / "python"
    stopped.write_text("#!/bin/sh\nexit 130\n")
    stopped.chmod(0o755)
    out = tmp_path / "job"
    result = export(
        write(tmp_path), "--to", "parquet", "-o", out, env={"VRAMSTOW_PYTHON": str(stopped)}
    )
    assert result.returncode == 1
    assert result.stderr == (
        f"vramstow export: cannot write {out}: {stopped} ended with exit status 130.\n"
    )


def test_without_pyarrow_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\nexit 3\n")
    bare.chmod(0o755)
    trace = write(tmp_path)
    for python, words in ((bare, "pip install pyarrow"), (tmp_path / "none", "cannot start")):
        result = export(
            trace, "--to", "parquet", "-o", tmp_path / "job", env={"VRAMSTOW_PYTHON": str(python)}
        )
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert words in result.stderr


def test_what_a_helper_says_is_not_lost_where_sigchld_is_ignored(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\nexit 3\n")
    bare.chmod(0o755)
    result = export(
        *(write(tmp_path), "--to", "parquet", "-o", tmp_path / "job"),
        env={"VRAMSTOW_PYTHON": str(bare)},
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert result.returncode == 2
    assert "pip install pyarrow" in result.stderr


def test_wrong_arguments_of_convert_get_one_sentence(tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    stranger.write_text("hello")
    for arguments in ([stranger], [tmp_path / "none"], []):
        result = convert(*arguments)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stranger"]
    result = convert(write(tmp_path), "-o", tmp_path / "no/such/place.stow")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1


def test_convert_replaces_no_input_that_it_was_not_told_to(tmp_path: Path) -> None:
    trace = write(tmp_path)
    before = trace.read_bytes()
    result = convert(trace)
    assert result.returncode == 2
    assert "is not replaced: name another file with -o." in result.stderr
    assert trace.read_bytes() == before


def test_a_trace_converted_to_itself_is_still_the_same(tmp_path: Path) -> None:
    trace = write(tmp_path, "many")
    before = essence(facts(trace))
    size = trace.stat().st_size
    told = json.loads(convert(trace, "-o", trace, "--json").stdout)
    assert told == {"output": str(trace), "events": 100004, "bytes": trace.stat().st_size}
    assert essence(facts(trace)) == before
    assert trace.stat().st_size < size, "compressed"
