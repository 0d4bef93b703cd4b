"""Tests --metrics with Prometheus itself: it scrapes a job, its node exporter reads the file,
promtool finds no mistakes, and the alerts are raised when they should be."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, run_program
from metrics_of import OPEN_METRICS, free_port, get, job, within
from top_test import Job

MEBI = 1 << 20
ALERTS = ROOT / "docs/prometheus/alerts.yml"

pytestmark = pytest.mark.skipif(
    shutil.which("promtool") is None or shutil.which("prometheus-node-exporter") is None,
    reason="no Prometheus here: setup/packages-long.txt names it",
)


@contextmanager
def running(*command: str | Path, cwd: Path) -> Iterator[None]:
    with (cwd / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=cwd, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def answers(port: int, path: str = "/metrics") -> bool:
    try:
        return get(port, path)[0] == 200
    except ConnectionError:
        return False


def ask(port: int, query: str) -> list[dict]:
    """Returns the answer of Prometheus."""
    body = get(port, "/api/v1/query?" + urllib.parse.urlencode({"query": query}))[2]
    return json.loads(body)["data"]["result"]


@contextmanager
def prometheus(folder: Path, *targets: int) -> Iterator[int]:
    """Starts Prometheus, which scrapes every second, with the shipped rules."""
    folder.mkdir()
    addresses = ", ".join(f'"127.0.0.1:{target}"' for target in targets)
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        f"rule_files: [{ALERTS}]\n"
        "scrape_configs:\n"
        f"  - {{job_name: vramstow, static_configs: [{{targets: [{addresses}]}}]}}\n"
    )
    port = free_port()
    command = (
        *("prometheus", f"--config.file={folder}/prometheus.yml"),
        *(f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"),
    )
    with running(*command, cwd=folder):
        assert within(60, lambda: answers(port, "/-/ready")), (folder / "log").read_text()
        yield port


def test_prometheus_scrapes_two_ranks_and_tells_of_an_out_of_memory(tmp_path: Path) -> None:
    port = free_port()
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with (
        job(folders[0], str(port), RANK="0", LOCAL_RANK="0") as one,
        job(folders[1], str(port), RANK="1", LOCAL_RANK="1") as two,
    ):
        one.do(f"take {64 * MEBI}")
        two.do(f"take {128 * MEBI}")
        with prometheus(tmp_path / "prometheus", port, port + 1) as server:
            found = {}

            def scraped() -> bool:
                for row in ask(server, "vramstow_requested_bytes"):
                    found[row["metric"]["rank"]] = int(row["value"][1])
                return len(found) == 2

            assert within(60, scraped), ask(server, "up")
            assert found == {"0": 64 * MEBI, "1": 128 * MEBI}
            [all_of_them] = ask(server, "sum(vramstow_requested_bytes)")
            assert int(all_of_them["value"][1]) == 192 * MEBI
            # The server asked for OpenMetrics, so it knows the types.
            metadata = json.loads(get(server, "/api/v1/metadata")[2])["data"]
            assert metadata["vramstow_requested_bytes"][0]["unit"] == "bytes"
            assert metadata["vramstow_misses"][0]["type"] == "counter"
            assert not ask(server, 'ALERTS{alertname="VramstowOutOfMemory"}')
            one.do("oom")

            def alerted() -> bool:
                rows = ask(server, firing("VramstowOutOfMemory"))
                return {row["metric"]["rank"] for row in rows} == {"0"}

            assert within(60, alerted)


def test_prometheus_scrapes_all_processes_of_a_node(tmp_path: Path) -> None:
    """Uses vramstow top --serve; the jobs themselves serve no metrics."""
    port = free_port()
    folder = tmp_path / "job"
    folder.mkdir()
    job_of_folder = Job(folder)
    try:
        job_of_folder.take(3)
        serve = (VRAMSTOW, "top", job_of_folder.traces, f"--serve={port}", "--interval=0.1")
        with (
            running(*serve, cwd=folder),
            prometheus(tmp_path / "prometheus", port) as server,
        ):
            query = "vramstow_node_allocated_bytes"
            seen: list[dict] = []

            def scraped(mebibytes: int) -> bool:
                seen[:] = ask(server, query)
                return [int(row["value"][1]) for row in seen] == [mebibytes * MEBI]

            assert within(60, lambda: scraped(3)), ask(server, "up")
            assert seen[0]["metric"]["uuid"]
            job_of_folder.take(8)
            assert within(60, lambda: scraped(11)), seen
            metadata = json.loads(get(server, "/api/v1/metadata")[2])["data"]
            assert metadata["vramstow_node_allocated_bytes"][0]["unit"] == "bytes"
            assert metadata["vramstow_node_out_of_memory"][0]["type"] == "counter"
            checked = run_program("promtool", "check", "metrics", input=get(port)[2])
            assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    finally:
        job_of_folder.end()


def test_the_node_exporter_reads_the_file(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    port = free_port()
    exporter = (
        *("prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile"),
        *(f"--collector.textfile.directory={texts}", f"--web.listen-address=127.0.0.1:{port}"),
    )
    with (
        job(tmp_path, f"{texts}/job-%r.prom,every=1s", RANK="5") as one,
        running(*exporter, cwd=texts),
    ):
        one.do(f"take {64 * MEBI}")
        wanted = f'vramstow_requested_bytes{{device="0",pid="{one.pid}",rank="5"}} 6.7108864e+07'
        assert within(60, lambda: answers(port) and wanted in get(port)[2])
        body = get(port)[2]
        assert "node_textfile_scrape_error 0" in body
        assert f'node_textfile_mtime_seconds{{file="{texts}/job-5.prom"}}' in body
        # A response is complete even if the file is rewritten at the same time.
        for _ in range(50):
            body = get(port)[2]
            assert "node_textfile_scrape_error 0" in body and wanted in body
        assert one.end() == (0, "")
        assert within(20, lambda: "vramstow_" not in get(port)[2])


def test_promtool_finds_nothing_wrong_with_the_metrics(tmp_path: Path) -> None:
    port = free_port()
    with job(tmp_path, str(port)) as one:
        one.do("take 1000")
        _, _, body = get(port)
        assert get(port, accept=OPEN_METRICS)[2].endswith("\n# EOF\n")
    checked = run_program("promtool", "check", "metrics", input=body)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_promtool_accepts_the_rules() -> None:
    checked = run_program("promtool", "check", "rules", ALERTS)
    assert checked.returncode == 0, checked.stderr
    assert "5 rules found" in checked.stdout


def firing(alert: str) -> str:
    return f'ALERTS{{alertname="{alert}",alertstate="firing"}}'


def test_alerts_come_when_they_should_and_not_before(tmp_path: Path) -> None:
    """Uses synthetic series in the notation of promtool test rules, with a value each minute."""
    labels = '{device="0",pid="1",rank="0"}'
    series = {
        "vramstow_reserved_bytes": "1000x40",
        "vramstow_free_unusable_bytes": "100x9 300x30",
        "vramstow_device_bytes": "10000x40",
        "vramstow_head_room_bytes": "400x19 600x20",
        "vramstow_out_of_memory_total": "0x29 1x10",
        "vramstow_offloaded_bytes": "0x4 5x35",
        "vramstow_misses_total": "0+6000x40",
        "vramstow_hits_total": "0+60x40",
    }
    # For each alert: minutes at which it fires, and minutes at which it does not.
    expected = {
        "VramstowFragmented": ((21, 35), (5, 15)),
        "VramstowLittleHeadRoom": ((6, 15), (3, 25)),
        "VramstowOutOfMemory": ((31, 35), (5, 28)),
        "VramstowMemoryOffloaded": ((21, 35), (5, 15)),
        "VramstowManyMisses": ((25, 35), (5, 14)),
    }
    test = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": name + labels, "values": values} for name, values in series.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": f"count({firing(name)}) or vector(0)",
                        "eval_time": f"{minute}m",
                        "exp_samples": [{"labels": "{}", "value": int(fires)}],
                    }
                    for name, (there, not_there) in expected.items()
                    for fires, minutes in ((True, there), (False, not_there))
                    for minute in minutes
                ],
            }
        ],
    }
    # JSON is valid YAML.
    (tmp_path / "test.yml").write_text(json.dumps(test))
    tested = run_program("promtool", "test", "rules", "test.yml", cwd=tmp_path)
    assert tested.returncode == 0, tested.stdout + tested.stderr
