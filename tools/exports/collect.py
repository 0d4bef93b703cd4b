"""Appends the ranks that `vramstow collect` writes to stdin to a dataset of Parquet files.

It can also make a page of the dataset.

    collect.py DATASET [PAGE]

Each line of stdin is {"job": NAME, "rank": NUMBER, "facts": {…}}: one process, with the facts of
`vramstow analyze --json`. The dataset has four tables, TABLE/day=…/job=…/part-….parquet. A row of a
process that is already in the dataset is not added again. DATASET may be any path that DuckDB can
write.

Exit status: 0; 130 plus the errno if a file could not be written, which the program reports; 130
after Ctrl-C; 1 after any other error, which is written to stderr; 3 if DuckDB is not installed.
"""

from __future__ import annotations

import datetime
import html
import json
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

try:
    import duckdb
except ImportError:
    sys.exit(3)

INTERRUPTED = 130
ERRNO_BASE = INTERRUPTED
GREATEST_ERRNO = 255 - ERRNO_BASE
TABLES = {
    "ranks": {
        "rank": "BIGINT",
        "run": "VARCHAR",
        "host": "VARCHAR",
        "process": "BIGINT",
        "started_ns": "BIGINT",
        "program": "VARCHAR",
        "simulated": "BOOLEAN",
        "card": "VARCHAR",
        "cards": "BIGINT",
        "card_hours": "DOUBLE",
        "device_bytes": "BIGINT",
        "peak_allocated_bytes": "BIGINT",
        "peak_reserved_bytes": "BIGINT",
        "peak_requested_bytes": "BIGINT",
        "unusable_bytes_at_peak": "BIGINT",
        "leaked_bytes": "BIGINT",
        "allocations": "BIGINT",
        "frees": "BIGINT",
        "out_of_memory": "BIGINT",
        "iterations": "BIGINT",
        "growth_bytes": "BIGINT",
    },
    "advice": {
        "rank": "BIGINT",
        "run": "VARCHAR",
        "advice": "VARCHAR",
        "place": "VARCHAR",
        "bytes": "BIGINT",
        "card_hours": "DOUBLE",
        "device_bytes": "BIGINT",
    },
    # Number of blocks by size class: from 2^n to below 2^(n+1) bytes.
    "sizes": {
        "rank": "BIGINT",
        "run": "VARCHAR",
        "from_bytes": "BIGINT",
        "allocations": "BIGINT",
        "total_bytes": "BIGINT",
        "bytes_at_peak": "BIGINT",
    },
    # Hours of GPU time, divided by how much of the memory was allocated: tenth 0 is up to a tenth,
    # and tenth 9 is more than nine tenths.
    "levels": {"rank": "BIGINT", "run": "VARCHAR", "tenth": "BIGINT", "card_hours": "DOUBLE"},
}
KEYS = {"day": "DATE", "job": "VARCHAR"}
# The number of the process on stdin. It belongs to the rows that are added, not to the dataset:
# several processes may have the same job, run and rank.
SOURCE = {"source": "BIGINT"}
# The processes on stdin that are already in the dataset. A trace that was converted from another
# program's recording may name no host, process or start; its facts then say that it is the same
# one. Without a start, its day is the day on which it was added.
KNOWN = """
SELECT new.source FROM new_ranks AS new SEMI JOIN ranks AS old
ON old.job = new.job AND old.run = new.run AND old.started_ns = new.started_ns
AND old.host IS NOT DISTINCT FROM new.host AND old.process IS NOT DISTINCT FROM new.process
AND (old.day = new.day OR new.started_ns = 0)
AND ((new.process IS NOT NULL AND new.started_ns <> 0) OR (
    old.rank = new.rank AND old.card_hours = new.card_hours
    AND old.allocations = new.allocations AND old.frees = new.frees
    AND old.peak_allocated_bytes = new.peak_allocated_bytes
    AND old.peak_requested_bytes IS NOT DISTINCT FROM new.peak_requested_bytes
    AND old.peak_reserved_bytes IS NOT DISTINCT FROM new.peak_reserved_bytes
    AND old.unusable_bytes_at_peak IS NOT DISTINCT FROM new.unusable_bytes_at_peak))
"""
NS_PER_HOUR = 3_600_000_000_000
LARGEST = 2**63 - 1  # of a BIGINT
# The end of the year 9999, the last one that datetime has, in seconds since 1970.
LAST_SECOND = 253_402_300_799


def in_range(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the row with its numbers within the range of the columns.

    A damaged trace may have larger ones, and DuckDB would refuse all rows because of them.
    """
    return {
        name: max(-LARGEST, min(LARGEST, value)) if isinstance(value, int) else value
        for name, value in row.items()
    }


def hours_by_tenth(facts: dict[str, Any], device_bytes: int, cards: int) -> list[float]:
    """Returns the hours of each tenth, from the highest level of each interval of the timeline."""
    hours = [0.0] * 10
    timeline = facts["timeline"]
    if device_bytes == 0 or not timeline:
        return hours
    for level in timeline["allocated_bytes"]:
        tenth = min(9, level * 10 // device_bytes)
        hours[tenth] += cards * timeline["interval_ns"] / NS_PER_HOUR
    return hours


def rows_of(told: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Returns the rows of one process, each with its table."""
    facts, number = told["facts"], told["rank"]
    process, counts, peak = facts["process"], facts["counts"], facts["peak"]
    started_ns = process["start_time_unix_ns"] or 0
    seconds = min(started_ns / 1e9, LAST_SECOND)
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc) if seconds else now
    keys = {"day": day.date().isoformat(), "job": told["job"], "rank": number}
    keys["run"] = facts["facts"].get("run.id", "")
    devices = facts["devices"]
    cards = max(1, len(devices))
    device_bytes = sum(device["total_bytes"] or 0 for device in devices)
    card = {
        "card_hours": cards * facts["input"]["duration_ns"] / NS_PER_HOUR,
        "device_bytes": device_bytes,
    }
    found = facts["iterations_found"] or {}
    yield (
        "ranks",
        keys
        | card
        | {
            "host": process["host"],
            "process": process["pid"],
            "started_ns": started_ns,
            "program": Path(process["program"] or "").name,
            "simulated": bool(process["simulated"]),
            "card": devices[0]["name"] if devices else None,
            "cards": len(devices),
            "peak_allocated_bytes": peak["allocated_bytes"],
            "peak_reserved_bytes": peak["reserved_bytes"],
            "peak_requested_bytes": peak["requested_bytes"],
            "unusable_bytes_at_peak": facts["fragmentation"]["unusable_bytes_at_peak"],
            "leaked_bytes": facts["leaks"]["device_bytes"],
            "allocations": counts["allocations"],
            "frees": counts["frees"],
            "out_of_memory": counts["out_of_memory"],
            "iterations": found.get("count"),
            "growth_bytes": found.get("growth_bytes"),
        },
    )
    for piece in facts["advice"]:
        row = {"advice": piece["id"], "place": piece["place"], "bytes": piece["bytes"]}
        yield "advice", keys | card | row
    for bucket in facts["histogram"]:
        named = ("from_bytes", "allocations", "total_bytes", "bytes_at_peak")
        yield "sizes", keys | {name: bucket[name] for name in named}
    for tenth, hours in enumerate(hours_by_tenth(facts, device_bytes, cards)):
        if hours > 0:
            yield "levels", keys | {"tenth": tenth, "card_hours": hours}


class Dataset:
    """The tables below one path."""

    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/") or "/"
        self.is_local = "://" not in path
        self.base = duckdb.connect()

    def view(self, table: str) -> bool:
        """Makes the view of a table. Returns false if the table has no files."""
        types = ", ".join(f"'{name}': {kind}" for name, kind in KEYS.items())
        files = f"{self.path}/{table}/*/*/*.parquet".replace("'", "''")
        try:
            self.base.execute(
                f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM read_parquet('{files}', "
                f"hive_partitioning = true, hive_types = {{{types}}}, union_by_name = true)"
            )
        except duckdb.IOException:
            # An empty table with the same columns, so that the queries return nothing instead of
            # failing.
            columns = ", ".join(
                f"CAST(NULL AS {kind}) AS {name}" for name, kind in (KEYS | TABLES[table]).items()
            )
            self.base.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT {columns} WHERE false")
            return False
        return True

    def append(self, lines: Iterable[str]) -> tuple[int, int]:
        """Returns the number of processes on stdin, and how many of them are new."""
        with tempfile.TemporaryDirectory() as folder:
            files = {table: Path(folder) / f"{table}.json" for table in TABLES}
            streams = {table: path.open("w") for table, path in files.items()}
            for source, line in enumerate(lines):
                for table, row in rows_of(json.loads(line)):
                    row = in_range(row) | {"source": source}
                    streams[table].write(json.dumps(row) + "\n")
            for stream in streams.values():
                stream.close()
            for table, path in files.items():
                types = KEYS | TABLES[table] | SOURCE
                columns = ", ".join(f"'{name}': '{kind}'" for name, kind in types.items())
                self.base.execute(
                    f"CREATE TEMP TABLE new_{table} AS SELECT * FROM read_json('{path}', "
                    f"format = 'newline_delimited', columns = {{{columns}}})"
                )
        [(told,)] = self.base.execute("SELECT COUNT(*) FROM new_ranks").fetchall()
        if self.view("ranks"):
            self.base.execute(f"CREATE TEMP TABLE known AS {KNOWN}")
            for table in TABLES:
                self.base.execute(
                    f"DELETE FROM new_{table} WHERE source IN (SELECT source FROM known)"
                )
        [(new,)] = self.base.execute("SELECT COUNT(*) FROM new_ranks").fetchall()
        if new > 0:
            self.write()
        return told, new

    def write(self) -> None:
        # Local files are first written to another folder, so that no reader sees a part of them;
        # remote storage cannot rename files.
        stamp = uuid.uuid4().hex
        place = f"{self.path}/.new-{stamp}" if self.is_local else self.path
        if self.is_local:
            Path(place).mkdir(parents=True)
        try:
            for table in TABLES:
                target = f"{place}/{table}".replace("'", "''")
                names = ", ".join(KEYS | TABLES[table])
                self.base.execute(
                    f"COPY (SELECT {names} FROM new_{table} ORDER BY day, job, rank) TO '{target}' "
                    "(FORMAT parquet, COMPRESSION zstd, PARTITION_BY (day, job), APPEND, "
                    "FILENAME_PATTERN 'part-{uuid}')"
                )
            if self.is_local:
                # The table of ranks is moved last, so that a reader who finds a rank also finds its
                # advice.
                for table in reversed(TABLES):
                    for file in sorted(Path(place, table).rglob("*.parquet")):
                        goal = Path(self.path, table, file.relative_to(Path(place, table)))
                        goal.parent.mkdir(parents=True, exist_ok=True)
                        file.rename(goal)
        finally:
            if self.is_local:
                shutil.rmtree(place, ignore_errors=True)

    def ask(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        found = self.base.execute(query)
        return [column[0] for column in found.description], found.fetchall()


STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 68em; padding: 0 1em;
       color: #1b1f24; background: #fff; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; } p { color: #57606a; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3em .7em; border-bottom: 1px solid #d8dee4; }
th:first-child, td:first-child { text-align: left; }
th { color: #57606a; font-weight: 600; }
.bar { width: 22%; } .bar div { background: #4c78a8; height: .8em; border-radius: 2px; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; }
  p, th { color: #9198a1; } th, td { border-color: #3d444d; } .bar div { background: #6ea8dc; } }
"""


def shown(name: str, value: object) -> str:
    if value is None:
        return ""
    if name.endswith("bytes") or "_bytes_" in name:
        number, unit = float(str(value)), "B"
        for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
            if abs(number) < 1024 or unit == "TiB":
                break
            number /= 1024
        return f"{number:.4g} {unit}"
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table_of(names: list[str], rows: list[tuple[Any, ...]], measure: str) -> str:
    """Returns a table of the page, with a bar in one of the columns."""
    if not rows:
        return "<p>Nothing.</p>"
    at = names.index(measure)
    highest = max(abs(float(row[at])) for row in rows) or 1.0
    heads = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in names)
    lines = [f"<table><thead><tr>{heads}<th></th></tr></thead><tbody>"]
    for row in rows:
        cells = "".join(
            f"<td>{html.escape(shown(name, row[place]))}</td>" for place, name in enumerate(names)
        )
        width = 100 * abs(float(row[at])) / highest
        bar = f'<td class="bar"><div style="width:{width:.1f}%"></div></td>'
        lines.append(f"<tr>{cells}{bar}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def page_of(dataset: Dataset) -> str:
    for table in TABLES:
        dataset.view(table)
    folder = Path(__file__).parent
    parts = []
    for file, title, meaning, measure in (
        (
            "fleet_waste.sql",
            "Who wastes most",
            "GPU hours in which memory was not used: never reserved (unused), reserved but not "
            "allocated (kept), or of ranks that ran out of memory (lost).",
            "unused_card_hours",
        ),
        (
            "fleet_growth.sql",
            "What grew since last week",
            "The highest peak of a rank in the newest seven days, and in the seven days before.",
            "grown_bytes",
        ),
        (
            "fleet_advice.sql",
            "Which advice would save most",
            "The share of a GPU that would be free, times the hours for which the rank used it.",
            "freed_card_hours",
        ),
    ):
        names, rows = dataset.ask((folder / file).read_text())
        parts.append(f"<h2>{title}</h2><p>{meaning}</p>{table_of(names, rows, measure)}")
    names, rows = dataset.ask(
        "SELECT (tenth * 10)::VARCHAR || ' to ' || (tenth * 10 + 10)::VARCHAR || '%' AS allocated, "
        "SUM(card_hours) AS card_hours FROM levels GROUP BY tenth ORDER BY tenth"
    )
    parts.append(
        "<h2>How full the GPUs were</h2><p>For how many hours how much of a GPU's memory was "
        f"allocated.</p>{table_of(names, rows, 'card_hours')}"
    )
    _, [(ranks, jobs, first, last, hours)] = dataset.ask(
        "SELECT COUNT(*), COUNT(DISTINCT job), MIN(day), MAX(day), SUM(card_hours) FROM ranks"
    )
    summary = "The dataset is empty."
    if ranks:
        summary = (
            f"{ranks:,} ranks of {jobs:,} jobs, {first} to {last}, {shown('', hours)} GPU hours."
        )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Device memory of the '
        f"fleet</title><style>{STYLE}</style></head><body><h1>Device memory of the fleet</h1>"
        f"<p>{html.escape(summary)}</p>{''.join(parts)}</body></html>\n"
    )


def main() -> int:
    try:
        dataset = Dataset(sys.argv[1])
        told, new = dataset.append(sys.stdin)
        if told:
            known = f", {told - new} were already there" if new < told else ""
            print(f"{sys.argv[1]}: {new} of {told} ranks added{known}", file=sys.stderr)
        if len(sys.argv) > 2:
            page = Path(sys.argv[2])
            beside = page.with_name(page.name + ".part")
            beside.write_text(page_of(dataset))
            beside.rename(page)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OSError, duckdb.Error) as error:
        number = getattr(error, "errno", None)
        if isinstance(number, int) and 0 < number <= GREATEST_ERRNO:
            return ERRNO_BASE + number
        print(f"{sys.argv[1]}: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
