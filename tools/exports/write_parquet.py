"""Writes the columns that `vramstow export --to parquet` writes to stdin as Parquet files.

One folder for a job, one below it for each rank, one file for each trace:
FOLDER/rank=N/NAME.parquet. tools/exports/column_stream.h describes the input. Exit status:
0; 130 plus the errno if a file could not be written, which the program reports; 130 after Ctrl-C,
or if the program ended before its data did; 1 after any other error, which is written to stderr;
3 if pyarrow is not installed.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import BinaryIO

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    sys.exit(3)

INTERRUPTED = 130
ERRNO_BASE = INTERRUPTED
GREATEST_ERRNO = 255 - ERRNO_BASE

NUMBERS = [
    "sequence",
    "time_ns",
    "thread",
    "device",
    "stream",
    "address",
    "size",
    "requested",
    "object",
    "offset",
    "result",
    "allocated_bytes",
    "reserved_bytes",
]
TEXTS = ["kind", "memory", "layer", "call", "library"]


def read_exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the input ends in the middle of the columns")
    return data


class OutputFile:
    """A file that gets its name when it is complete, and is deleted if it never is."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.beside = path.with_name(path.name + ".part")
        self.writer = pq.ParquetWriter(self.beside, schema, compression="zstd")

    def finish(self) -> None:
        self.writer.close()
        self.beside.rename(self.path)

    def abandon(self) -> None:
        # Closing writes the remaining data, which may fail again.
        with contextlib.suppress(OSError, pa.ArrowException):
            self.writer.close()
        self.beside.unlink(missing_ok=True)


def file_for(folder: Path, rank: int, name: str) -> Path:
    """Returns an unused path: processes of one rank may have traces of the same name."""
    place = folder / f"rank={rank}"
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}.parquet"
    number = 1
    while path.exists():
        number += 1
        path = place / f"{name}-{number}.parquet"
    return path


def read_piece(stream: BinaryIO, head: dict[str, object]) -> pa.Table:
    rows = int(str(head["rows"]))
    columns: dict[str, pa.Array] = {}
    for name in (*NUMBERS, *TEXTS):
        values = pa.Array.from_buffers(
            pa.int64(), rows, [None, pa.py_buffer(read_exactly(stream, 8 * rows))]
        )
        if name in TEXTS:
            words = pa.array(head["texts"], pa.string())
            values = pa.DictionaryArray.from_arrays(values.cast(pa.int32()), words)
        columns[name] = values
    return pa.table(columns)


def main() -> int:
    folder = Path(sys.argv[1])
    output: OutputFile | None = None
    last: int | None = None
    try:
        while line := sys.stdin.buffer.readline():
            head = json.loads(line)
            if head.get("end"):
                break
            table = read_piece(sys.stdin.buffer, head)
            if output is None or head["source"] != last:
                if output is not None:
                    output.finish()
                path = file_for(folder, int(head["rank"]), str(head["file"]))
                output = OutputFile(path, table.schema)
                last = head["source"]
            output.writer.write_table(table)
        else:
            # The program was killed, or could not read its input, and has said so.
            if output is not None:
                output.abandon()
            return INTERRUPTED
        if output is not None:
            output.finish()
    except (OSError, EOFError, ValueError, pa.ArrowException) as error:
        if output is not None:
            output.abandon()
        number = getattr(error, "errno", None)
        if isinstance(number, int) and 0 < number <= GREATEST_ERRNO:
            return ERRNO_BASE + number
        print(f"{folder}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if output is not None:
            output.abandon()
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
