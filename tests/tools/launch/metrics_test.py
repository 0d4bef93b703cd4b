"""Reads the metrics of --metrics with Prometheus's own parsers for Python."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from built import BUILD, ROOT, VRAMSTOW, run_program
from metrics_of import HERE, OPEN_METRICS, free_port, get, job, within

openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser")
text_parser = pytest.importorskip("prometheus_client.parser")

MEBI = 1 << 20


def samples(body: str, parser=text_parser) -> dict[str, float]:  # noqa: ANN001
    """Returns the samples of device 0 by name."""
    return {
        sample.name: sample.value
        for family in parser.text_string_to_metric_families(body)
        for sample in family.samples
        if sample.labels.get("device", "0") == "0"
    }


def test_both_formats_have_the_numbers_of_ctl(tmp_path: Path) -> None:
    port = free_port()
    with job(tmp_path, str(port)) as one:
        one.do(f"take {64 * MEBI}")
        one.do("take 1000")
        one.do(f"take {8 * MEBI}")
        one.do("free 2")
        one.do("cycle 1000 100")
        one.do("oom")
        status, kind, body = get(port)
        assert (status, kind.split(";")[0]) == (200, "text/plain")
        found = samples(body)
        status, kind, body = get(port, accept=f"{OPEN_METRICS};version=1.0.0,text/plain;q=0.5")
        assert (status, kind.split(";")[0]) == (200, OPEN_METRICS)
        assert samples(body, openmetrics) == found
        told = run_program(
            *(VRAMSTOW, "ctl", "--json", "--control-dir", tmp_path / "control"),
            *(str(one.pid), "stats"),
            check=True,
        )
        stats = json.loads(told.stdout)["devices"][0]
        families = {family.name: family for family in openmetrics_families(body)}
        labels = families["vramstow_allocated_bytes"].samples[0].labels
        assert labels == {"device": "0", "pid": str(one.pid), "rank": ""}
        [info] = families["vramstow_process_info"].samples
        assert info.labels["program"].startswith("python")
    for name, value in stats.items():
        if name in ("device", "of", "host_bytes", "fence_wait_ns"):
            continue
        assert found.get(f"vramstow_{name}", found.get(f"vramstow_{name}_total")) == value, name
    assert found["vramstow_allocated_bytes"] >= 64 * MEBI + 1000
    assert found["vramstow_requested_bytes"] == 64 * MEBI + 1000
    assert found["vramstow_fence_wait_seconds_total"] == stats["fence_wait_ns"] / 1e9
    assert found["vramstow_out_of_memory_total"] == 1
    assert found["vramstow_allocations_total"] == 103
    assert found["vramstow_hits_total"] + found["vramstow_misses_total"] == 104
    assert found["vramstow_hits_total"] >= 90
    assert found["vramstow_device_bytes"] == 1 << 30
    # Memory in the pool's cache counts as free.
    assert 0 < found["vramstow_head_room_bytes"] < (1 << 30) - 64 * MEBI


def openmetrics_families(body: str):  # noqa: ANN201
    return list(openmetrics.text_string_to_metric_families(body))


def test_free_memory_in_small_pieces_is_unusable(tmp_path: Path) -> None:
    port = free_port()
    with job(tmp_path, str(port)) as one:
        for _ in range(16):
            one.do(f"take {MEBI}")
        before = samples(get(port)[2])["vramstow_free_unusable_bytes"]
        for index in range(0, 16, 2):
            one.do(f"free {index}")
        # No submitted work uses the freed memory, so it is not pending.
        found = samples(get(port)[2])
        assert found["vramstow_pending_bytes"] == 0
        # Only every second MiB is free, so no chunk of 2 MiB is free.
        assert found["vramstow_free_unusable_bytes"] >= before + 8 * MEBI
        one.do("take 1000")
        for index in range(1, 16, 2):
            one.do(f"free {index}")
        one.do(f"take {4 * MEBI}")
        found = samples(get(port)[2])
        assert found["vramstow_pending_bytes"] == 0
        # Only the rest of the chunk with the block of 1000 bytes cannot be used.
        assert found["vramstow_free_unusable_bytes"] < 2 * MEBI
        assert found["vramstow_reserved_bytes"] > 16 * MEBI


def test_offloaded_memory_is_told(tmp_path: Path) -> None:
    port = free_port()
    with job(tmp_path, str(port), "--offload=explicit") as one:
        one.do(f"take {64 * MEBI}")
        subprocess.run(
            [
                *(VRAMSTOW, "ctl", "--control-dir", tmp_path / "control"),
                *(str(one.pid), "offload"),
            ],
            check=True,
            capture_output=True,
        )
        found = samples(get(port)[2])
    assert found["vramstow_offloaded_bytes"] == found["vramstow_moved_out_bytes_total"]
    assert found["vramstow_offloaded_bytes"] >= 64 * MEBI


def test_a_rank_has_a_port_of_its_own_and_says_who_it_is(tmp_path: Path) -> None:
    port = free_port()
    with job(tmp_path, str(port), RANK="11", LOCAL_RANK="3") as one:
        one.do("take 1000")
        families = openmetrics_families(get(port + 3, accept=OPEN_METRICS)[2])
        assert {s.labels["rank"] for f in families for s in f.samples} == {"11"}
        with pytest.raises(ConnectionRefusedError):
            get(port)


def test_only_this_machine_is_served_unless_an_address_is_named(tmp_path: Path) -> None:
    def listeners(port: int) -> set[str]:
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        local = [line.split()[1] for line in lines if line.split()[3] == "0A"]
        return {one.split(":")[0] for one in local if int(one.split(":")[1], 16) == port}

    port = free_port()
    with job(tmp_path, str(port)) as one:
        one.do("take 1000")
        assert listeners(port) == {"0100007F"}
    other = tmp_path / "other"
    other.mkdir()
    port = free_port()
    with job(other, f"0.0.0.0:{port}") as one:
        one.do("take 1000")
        assert listeners(port) == {"00000000"}


def test_a_socket_of_the_file_system(tmp_path: Path) -> None:
    path = tmp_path / "m.sock"
    # `left` is the socket of a process that was killed.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with job(tmp_path, "unix:m.sock") as one:
        one.do(f"take {4 * MEBI}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b"".join(iter(lambda: client.recv(65536), b"")).decode()
        head, _, body = answer.partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 200 OK\r\n")
        assert f"Content-Length: {len(body)}\r\n" in head
        assert samples(body)["vramstow_requested_bytes"] == 4 * MEBI
        assert one.end() == (0, "")
    assert not path.exists()


def test_a_file_is_whole_whenever_it_is_read(tmp_path: Path) -> None:
    with job(tmp_path, "job-%r-%p.prom,every=1s", RANK="7") as one:
        one.do(f"take {MEBI}")
        path = tmp_path / f"job-7-{one.pid}.prom"
        assert within(20, path.exists)
        seen = set()

        def whole() -> bool:
            one.do("take 1000")
            found = samples(path.read_text())
            assert len(found) > 20
            seen.add(found["vramstow_allocations_total"])
            return len(seen) == 4

        assert within(20, whole)
        assert stat.S_IMODE(path.stat().st_mode) & 0o400
        assert {p.name for p in tmp_path.glob("*.prom*")} - {f"{path.name}.{one.pid}"} == {
            path.name
        }
        assert one.end() == (0, "")
    assert not list(tmp_path.glob("*.prom*"))


def test_a_port_in_use_is_one_line_and_the_job_goes_on(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with job(tmp_path, str(port)) as one:
            one.do("take 1000")
            assert one.end() == (0, "")
            lines = [line for line in one.said().splitlines() if "no summary" not in line]
    assert lines == [
        f"vramstow: this process serves no metrics (127.0.0.1, port {port}: "
        "Address already in use)."
    ]


@pytest.mark.parametrize("metrics", ["no-folder/x.prom,every=1s", "unix:no-folder/x"])
def test_where_nothing_can_be_made_it_is_one_line(tmp_path: Path, metrics: str) -> None:
    with job(tmp_path, metrics) as one:
        one.do("take 1000")
        assert within(20, lambda: "metrics" in one.said())
        one.do("take 1000")
        assert one.end() == (0, "")
        lines = [line for line in one.said().splitlines() if "no summary" not in line]
    assert len(lines) == 1 and "no-folder/x" in lines[0], lines
    assert "No such file or directory" in lines[0]


def test_a_forked_child_does_not_serve(tmp_path: Path) -> None:
    port = free_port()
    with job(tmp_path, str(port)) as one:
        one.do("take 1000")
        # The forked child has neither the listener nor the control socket.
        assert one.do("fork") == "0"
        pids = {
            s.labels["pid"]
            for f in openmetrics_families(get(port, accept=OPEN_METRICS)[2])
            for s in f.samples
        }
        assert pids == {str(one.pid)}


def test_strange_clients_hold_up_nobody(tmp_path: Path) -> None:
    port = free_port()
    with job(tmp_path, str(port)) as one:
        one.do("take 1000")
        assert get(port, "/other")[0] == 404
        assert get(port, method="POST")[0] == 405
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        talker = socket.create_connection(("127.0.0.1", port), timeout=20)
        talker.sendall(b"x" * 4096)
        assert talker.recv(10) == b""  # it sent too much and was dropped
        assert get(port)[0] == 200
        for client in silent:
            client.settimeout(30)
            assert client.recv(10) == b""  # it was dropped after five seconds
        one.do("take 1000")
        assert get(port)[0] == 200


@pytest.mark.parametrize(
    "wrong",
    ["0", "70000", "port", "file.txt", "unix:", "1.2.3:9400", "x.prom,every=20ms", "[::1]9"],
)
def test_a_wrong_value_starts_nothing(tmp_path: Path, wrong: str) -> None:
    with job(tmp_path, wrong) as one:
        status, out = one.end()
        assert (status, out) == (2, "")
        assert one.said().count("\n") == 1 and wrong in one.said()


def test_without_pool_and_pytorch_there_are_no_numbers_and_a_line_says_so(tmp_path: Path) -> None:
    with job(tmp_path, str(free_port()), "--pool=off", "--level=segments") as one:
        assert one.end() == (2, "")
        assert "--pool=on" in one.said() and one.said().count("\n") == 1
    (tmp_path / "job").mkdir()
    port = free_port()
    with job(tmp_path / "job", str(port), "--pool=off") as one:
        one.do("take 1000")
        assert list(samples(get(port)[2])) == ["vramstow_process_info"]
        assert one.end() == (0, "")
        assert one.said().count("there were no metrics, because no PyTorch was observed") == 1
    simulator = BUILD / "lib/vramstow/simulator"
    result = run_program(
        sys.executable,
        HERE / "metrics_job.py",
        input="take 1000\n",
        env=os.environ
        | {
            "LD_PRELOAD": str(BUILD / "lib/libvramstow.so"),
            "LD_LIBRARY_PATH": str(simulator),
            "VRAMSTOW_SIMULATE": "h200",
            "VRAMSTOW_METRICS": str(free_port()),
            "VRAMSTOW_TRACE": "0",
        },
        timeout=60,
    )
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert result.stderr.count("\n") == 1 and "--pool=on" in result.stderr


def told_names(tmp_path: Path) -> dict[str, str]:
    """Returns the names of all metrics, and their help, which exist before there are numbers."""
    port = free_port()
    with job(tmp_path, str(port), "--pool=off") as one:
        one.do("take 1000")
        return dict(re.findall(r"^# HELP (\S+) (.*)$", get(port)[2], re.MULTILINE))


def told_shared_names(tmp_path: Path) -> dict[str, str]:
    """Returns the names that only a process has that shares its GPU."""
    port = free_port()
    with job(tmp_path, str(port), f"--share=dir={tmp_path / 'tables'}") as one:
        one.do("take 1000")
        # The thread that shares the GPU begins after the first allocation.
        assert within(60, lambda: "vramstow_share_state" in get(port)[2])
        told = dict(re.findall(r"^# HELP (\S+) (.*)$", get(port)[2], re.MULTILINE))
    return {name: text for name, text in told.items() if "_share_" in name}


def test_the_page_the_rules_and_the_dashboard_name_what_is_told(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    told = told_names(tmp_path)
    assert not any("_share_" in name for name in told)
    told |= told_shared_names(other)
    page = (ROOT / "docs/prometheus.md").read_text()
    rows = dict(re.findall(r"^\| `(vramstow_\w+)` \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE))
    assert rows == {name: text.rstrip(".") for name, text in told.items()}
    for name in ("alerts.yml", "dashboard.json"):
        text = (ROOT / "docs/prometheus" / name).read_text()
        named = set(re.findall(r"\bvramstow_\w+(?=[{\[\s)]|$)", text))
        assert named and named <= told.keys(), name


def test_the_dashboard_is_one() -> None:
    board = json.loads((ROOT / "docs/prometheus/dashboard.json").read_text())
    assert board["title"] and board["uid"] and board["schemaVersion"] >= 36
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids)) >= 6
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["targets"] and all(target["expr"] for target in panel["targets"])
    variables = {variable["name"] for variable in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(board["panels"])))
    assert used <= variables | {"__rate_interval", "__range"}


def test_a_job_is_as_it_would_be_without(tmp_path: Path) -> None:
    """The job prints nothing more on stdout, gives the same answers, and leaves no process."""
    answers = []
    for number, metrics in enumerate((str(free_port()), "x.prom")):
        folder = tmp_path / str(number)
        folder.mkdir()
        with job(folder, metrics) as one:
            answers.append([one.do(line) for line in ("take 1000", "oom", f"cycle {MEBI} 5")])
            assert one.end() == (0, "")
    assert answers == [["done"] * 3] * 2
