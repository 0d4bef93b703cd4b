"""Tests vramstow top --serve, for all processes of a node, with Prometheus's own parsers."""

from __future__ import annotations

import http.client
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from built import VRAMSTOW, run_program, run_vramstow
from metrics_of import OPEN_METRICS, free_port, get, within
from top_test import Job

openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser")
text_parser = pytest.importorskip("prometheus_client.parser")

pytestmark = pytest.mark.usefixtures("own_runtime_folder")

MEBI = 1 << 20


@contextmanager
def served(*arguments: str | Path, status: int = 0) -> Iterator[int]:
    """Returns the port; at the end a signal ends the server, which must exit without an error."""
    port = free_port()
    command = [VRAMSTOW, "top", *arguments, f"--serve={port}", "--interval=0.1"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:

        def answers() -> bool:
            try:
                return get(port)[0] == 200
            except ConnectionRefusedError:
                return False

        assert within(60, answers)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        told = server.communicate(timeout=60)
    assert server.returncode == status, told
    assert told == ("", "")


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[list[Job]]:
    """Starts two processes, of which one holds 3 MiB and the other one 8."""
    running = []
    try:
        for name, sizes in (("a", (1, 2)), ("b", (8,))):
            (tmp_path / name).mkdir()
            running.append(Job(tmp_path / name))
            for size in sizes:
                running[-1].take(size)
        yield running
    finally:
        for job in running:
            job.end()


def values(body: str, name: str, parser=text_parser) -> dict[str, float]:  # noqa: ANN001
    """Returns the numbers of each process by its id, or of each GPU."""
    return {
        sample.labels.get("pid", sample.labels.get("uuid", "")): sample.value
        for family in parser.text_string_to_metric_families(body)
        for sample in family.samples
        if sample.name == f"vramstow_{name}"
    }


def test_a_folder_is_told_by_process_and_together(jobs: list[Job], tmp_path: Path) -> None:
    for job, name in zip(jobs, ("a", "b"), strict=True):
        for trace in job.traces.glob("*.stow"):
            (tmp_path / f"{name}-{trace.name}").symlink_to(trace)
    with served(tmp_path) as port:
        status, kind, body = get(port, accept=f"{OPEN_METRICS};version=1.0.0")
        assert (status, kind.split(";")[0]) == (200, OPEN_METRICS)
        allocated = values(body, "allocated_bytes", openmetrics)
        assert sorted(allocated.values()) == [3 * MEBI, 8 * MEBI]
        assert set(values(body, "process_info", openmetrics)) == set(allocated)
        [total] = values(body, "node_allocated_bytes", openmetrics).values()
        assert total == 11 * MEBI
        assert values(body, "node_processes", openmetrics) == {"": 2}
        [card] = values(body, "node_device_bytes", openmetrics).values()
        assert card == set(values(body, "device_bytes", openmetrics).values()).pop() > 100 << 30
        status, kind, body = get(port)
        assert (status, kind.split(";")[0]) == (200, "text/plain")
        assert values(body, "allocated_bytes") == allocated
        # The server's next answer includes the memory that the job has allocated meanwhile.
        jobs[0].take(16)
        assert within(60, lambda: 19 * MEBI in values(get(port)[2], "allocated_bytes").values())
        # A process that has ended is not in the server's answer any more.
        jobs[1].end()
        assert within(60, lambda: values(get(port)[2], "node_processes") == {"": 1})
        body = get(port)[2]
        assert list(values(body, "allocated_bytes").values()) == [19 * MEBI]
        assert list(values(body, "node_allocated_bytes").values()) == [19 * MEBI]


def test_all_processes_of_the_node_are_found(jobs: list[Job]) -> None:
    traces = [trace for job in jobs for trace in job.traces.glob("*.stow")]
    ours = {trace.stem.rpartition("-")[2] for trace in traces}
    assert len(ours) == 2
    with served() as port:
        body = get(port)[2]
        allocated = values(body, "allocated_bytes")
        assert {allocated[pid] for pid in ours} == {3 * MEBI, 8 * MEBI}
        jobs[0].end()
        assert within(60, lambda: not ours <= set(values(get(port)[2], "allocated_bytes")))


def test_a_counter_does_not_fall_when_its_process_goes(jobs: list[Job], tmp_path: Path) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    [trace] = jobs[0].traces.glob("*.stow")
    link = folder / trace.name
    link.symlink_to(trace)
    assert jobs[0].process.stdin
    with served(folder) as port:
        jobs[0].process.stdin.write("100000000\n")  # out of memory, the job ends
        jobs[0].process.communicate(timeout=60)
        counted = "node_out_of_memory_total"
        assert within(60, lambda: list(values(get(port)[2], counted).values()) == [1])
        link.unlink()
        assert within(60, lambda: values(get(port)[2], "node_processes") == {"": 0})
        assert list(values(get(port)[2], counted).values()) == [1]
        assert values(get(port)[2], "allocated_bytes") == {}
        named = values(get(port)[2], "node_device_bytes")
        # A folder that vanishes and comes back brings no failure that was not counted before.
        for _ in range(2):
            link.symlink_to(trace)
            folder.rename(tmp_path / "away")
            assert within(60, lambda: values(get(port)[2], "node_processes") == {"": 0})
            time.sleep(0.3)
            assert get(port)[0] == 200
            (tmp_path / "away").rename(folder)
            time.sleep(0.3)
            assert list(values(get(port)[2], counted).values()) == [1]
            link.unlink()
        assert values(get(port)[2], "node_device_bytes") == named


def ask_locally(path: Path) -> str:
    """Returns the body of the answer over a socket of the file system."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(65536), b"")).decode()
    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 200 OK\r\n"), head
    return body


def test_a_socket_of_the_file_system_is_its_owners(jobs: list[Job], tmp_path: Path) -> None:
    path = tmp_path / "top.sock"
    # `left` is the socket of a server that was killed.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    command = [VRAMSTOW, "top", jobs[0].traces, f"--serve=unix:{path.name}", "--interval=0.1"]
    server = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:

        def answers() -> bool:
            try:
                return ask_locally(path) != ""
            except ConnectionRefusedError:
                return False

        assert within(60, answers)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert list(values(ask_locally(path), "allocated_bytes").values()) == [3 * MEBI]
        second = run_program(*command, cwd=tmp_path)
        assert (second.returncode, second.stdout) == (1, "")
        assert "cannot listen at top.sock: Address already in use" in second.stderr
        # The second server has not disturbed the first one, which still answers.
        assert list(values(ask_locally(path), "allocated_bytes").values()) == [3 * MEBI]
    finally:
        server.send_signal(signal.SIGTERM)
        told = server.communicate(timeout=60)
    assert (server.returncode, *told) == (0, "", "")
    assert not path.exists()


def test_other_questions_are_refused(tmp_path: Path) -> None:
    with served(tmp_path) as port:
        for method, path, status in (("GET", "/other", 404), ("POST", "/metrics", 405)):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(method, path)
            assert connection.getresponse().status == status
            connection.close()
        # A client that sends nothing does not block other clients.
        with socket.create_connection(("127.0.0.1", port)):
            assert get(port)[0] == 200


def test_what_is_wrong_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        for arguments, status, said in (
            ([f"--serve={taken}"], 1, "Address already in use"),
            (["--serve=nowhere"], 2, "it must be a port"),
            (["--serve=file.prom"], 2, "it must be a port"),
            (["--serve=unix:"], 2, "it must be a port"),
            (["--serve=unix:no-folder/x"], 1, "no-folder/x: No such file or directory"),
            ([f"--serve=unix:{tmp_path}/{'x' * 108}"], 1, "File name too long"),
            (["--serve=9400", "--once"], 2, "--once"),
        ):
            done = run_vramstow("top", *arguments, timeout=60)
            assert (done.returncode, done.stdout) == (status, ""), (arguments, done.stderr)
            assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr


# A namespace in which no other process runs, so that no job of another test is seen.
ALONE = ("unshare", "--map-root-user", "--pid", "--fork", "--mount-proc")


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_where_nothing_runs_top_says_so() -> None:
    if run_program(*ALONE, "true").returncode != 0:
        pytest.skip("no namespaces can be made here")
    answer = run_program(*ALONE, VRAMSTOW, "top")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "start one with vramstow run" in answer.stderr
    assert answer.stderr.count("\n") == 1
