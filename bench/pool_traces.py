"""Converts memory snapshots of PyTorch into requests that bench/pool_replay can serve.

Each snapshot with events becomes one text file: `a ID BYTES STREAM` allocates, `f ID` frees. Blocks
that were live when the recording began are allocated first: those that are freed in the window
without an allocation in it, and those of the final state without an allocation in the window.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
BLOCK_BYTES = 512
LIVE_STATES = ("active_allocated", "active_pending_free", "active_awaiting_free")


class PlainUnpickler(pickle.Unpickler):
    """Reads snapshots, which are plain data; a pickle that names anything else is refused."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"the file asks for {module}.{name}: refused")


def load(stream: IO[bytes]) -> object:
    return PlainUnpickler(stream).load()


def corpus_directory() -> Path | None:
    place = Path(os.environ.get("VRAMSTOW_CORPUS", ROOT / "../shared/corpus")).resolve()
    return place if place.is_dir() else None


def final_blocks(snapshot: dict[str, Any], device: int) -> dict[int, tuple[int, int]]:
    """Returns the live blocks of the final state: address -> (requested bytes, stream)."""
    blocks = {}
    for segment in snapshot["segments"]:
        if segment["device"] != device:
            continue
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] in LIVE_STATES:
                at = block.get("address", address)
                blocks[at] = (block.get("requested_size", block["size"]), segment["stream"])
            address += block["size"]
    return blocks


def requests_of(snapshot: dict[str, Any], device: int, trace: list[dict[str, Any]]) -> list[str]:
    live: dict[int, int] = {}
    before: list[tuple[int, int, int, int]] = []  # address, id, bytes, stream
    seen: list[str] = []
    count = 0
    for event in trace:
        address = event.get("addr")
        if event["action"] == "alloc":
            count += 1
            live[address] = count
            seen.append(f"a {count} {event['size']} {event['stream']}")
        elif event["action"] == "free_completed":
            if address not in live:
                count += 1
                before.append((address, count, event["size"], event["stream"]))
                live[address] = count
            seen.append(f"f {live.pop(address)}")
    for address, (size, stream) in final_blocks(snapshot, device).items():
        if address not in live:
            count += 1
            before.append((address, count, size, stream))
    return [f"a {number} {size} {stream}" for _, number, size, stream in sorted(before)] + seen


def convert(source: Path, target: Path) -> list[Path]:
    """Writes one file for each device with allocations in its recording; returns their paths."""
    with source.open("rb") as stream:
        snapshot = load(stream)
    if not isinstance(snapshot, dict):
        return []
    written = []
    for device, trace in enumerate(snapshot["device_traces"]):
        if not any(event["action"] == "alloc" for event in trace):
            continue
        path = target / f"{source.stem}{f'-{device}' if device else ''}.requests"
        path.write_text("\n".join(requests_of(snapshot, device, trace)) + "\n")
        written.append(path)
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="folder for the request files")
    parser.add_argument("snapshots", type=Path, nargs="*", help="default: the corpus")
    arguments = parser.parse_args()
    sources = arguments.snapshots
    if not sources:
        corpus = corpus_directory()
        if corpus is None:
            print(
                "no corpus: neither VRAMSTOW_CORPUS nor ../shared/corpus is a folder",
                file=sys.stderr,
            )
            return 77
        sources = sorted(corpus.glob("*.pickle"))
    arguments.target.mkdir(parents=True, exist_ok=True)
    for source in sources:
        for path in convert(source, arguments.target):
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
