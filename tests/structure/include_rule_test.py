"""Defines which room may include which, and checks every #include against it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

import pytest
import tree

# Maps a folder to the folders whose headers it may include besides its own. The longest matching
# folder applies.
RULE: dict[str, set[str]] = {
    "include/vramstow": set(),
    "adapters/torch": {"include/vramstow", "base"},
    "adapters/values": {"simulator"},
    "base": set(),
    # The folders of the allocator, from the bottom to the top.
    "allocator/core": {"base"},
    "allocator/physical": {"allocator/core", "base"},
    "allocator/heap": {"allocator/core", "allocator/physical", "base"},
    "allocator/placement": {"allocator/core", "allocator/physical", "allocator/heap", "base"},
    "allocator/pool": {
        "allocator/core",
        "allocator/physical",
        "allocator/heap",
        "allocator/placement",
        "base",
    },
    "allocator/offload": {
        "allocator/core",
        "allocator/physical",
        "allocator/heap",
        "allocator/pool",
        "base",
    },
    "interpose/shim": {"base", "include/vramstow"},
    "interpose/core": {
        "interpose/core/runtime",
        "interpose/core/record",
        "interpose/core/pools",
        "interpose/core/handlers",
        "interpose/core/share",
        "interpose/core/service",
        "interpose/core/framework",
        "interpose/shim",
        "include/vramstow",
        "tracer/capture",
        "base",
    },
    "interpose/core/runtime": {"interpose/shim", "base"},
    "interpose/core/record": {
        "interpose/core/runtime",
        "interpose/shim",
        "include/vramstow",
        "allocator/core",
        "tracer",
        "tracer/capture",
        "base",
    },
    "interpose/core/pools": {
        "interpose/core/record",
        "interpose/core/runtime",
        "interpose/shim",
        "include/vramstow",
        "allocator/core",
        "allocator/pool",
        "allocator/offload",
        "tracer",
        "tracer/capture",
        "base",
    },
    "interpose/core/handlers": {
        "interpose/core/pools",
        "interpose/core/record",
        "interpose/core/runtime",
        "interpose/shim",
        "base",
    },
    "interpose/core/share": {
        "interpose/core/pools",
        "interpose/core/record",
        "interpose/core/runtime",
        "interpose/shim",
        "base",
    },
    "interpose/core/service": {
        "interpose/core/pools",
        "interpose/core/record",
        "interpose/core/share",
        "interpose/core/runtime",
        "interpose/shim",
        "include/vramstow",
        "base",
    },
    "interpose/core/framework": {
        "interpose/core/pools",
        "interpose/core/record",
        "interpose/core/runtime",
        "interpose/shim",
        "include/vramstow",
        "base",
    },
    "interpose": {"base"},
    "tracer": {"tracer/format", "tracer/fold", "tracer/capture", "base"},
    "tracer/fold": {"tracer/format", "base"},
    "tracer/format": {"base"},
    "tracer/capture": {"base"},
    "simulator/device": {"simulator", "base"},
    "simulator": {"base"},
    "simulator/ptx": {"base"},
    "simulator/kernels": {
        "simulator",
        "simulator/kernels/named",
        "simulator/kernels/ptx",
        "simulator/driver",
        "simulator/device",
        "base",
    },
    "simulator/kernels/named": {"base"},
    "simulator/kernels/ptx": {"simulator/ptx", "base"},
    "simulator/driver": {"simulator", "simulator/device", "simulator/ptx", "base"},
    "simulator/runtime": {"simulator", "base"},
    "tools": {"tools/commands", "tools/terminal", "tools/base"},
    "tools/commands": {
        "tools/attach",
        "tools/compare",
        "tools/doctor",
        "tools/fidelity",
        "tools/jobs",
        "tools/json",
        "tools/launch",
        "tools/plan",
        "tools/share",
        "tools/terminal",
        "tools/top",
        "tools/exports",
        "tools/inputs",
        "tools/pipeline",
        "tools/analysis/advice",
        "tools/analysis/facts",
        "tools/analysis/fidelity",
        "tools/analysis/accounts",
        "tools/replay",
        "tools/report",
        "tools/symbols",
        "tools/formats",
        "tools/base",
        "tracer/format",
        "base",
    },
    "tools/attach": {"tools/json", "tools/launch", "tools/pipeline", "tools/base"},
    "tools/compare": {"tools/analysis/facts", "tools/json", "tools/base", "base"},
    "tools/fidelity": {
        "tools/jobs",
        "tools/launch",
        "tools/inputs",
        "tools/analysis/fidelity",
        "tools/json",
        "tools/base",
    },
    "tools/doctor": {
        "tools/json",
        "tools/launch",
        "tools/terminal",
        "tools/pipeline",
        "tools/base",
        "base",
    },
    "tools/jobs": {
        "tools/doctor",
        "tools/launch",
        "tools/terminal",
        "tools/pipeline",
        "tools/inputs",
        "tools/symbols",
        "tools/analysis/facts",
        "tools/analysis/accounts",
        "tools/base",
        "simulator",
        "base",
    },
    "tools/json": set(),
    "tools/launch": {
        "tools/inputs",
        "tools/json",
        "tools/base",
        "simulator",
        "include/vramstow",
        "base",
    },
    "tools/plan": {
        "tools/jobs",
        "tools/launch",
        "tools/inputs",
        "tools/report",
        "tools/analysis/facts",
        "tools/json",
        "tools/base",
        "base",
    },
    "tools/share": {
        "tools/jobs",
        "tools/launch",
        "tools/report",
        "tools/analysis/facts",
        "tools/json",
        "tools/base",
        "base",
    },
    "tools/top": {
        "tools/pipeline",
        "tools/inputs",
        "tools/analysis/facts",
        "tools/json",
        "tools/base",
        "base",
    },
    "tools/terminal": {"tools/base"},
    "tools/exports": {
        "tools/analysis/facts",
        "tools/analysis/accounts",
        "tools/formats",
        "tools/json",
        "tools/base",
        "tracer/format",
        "base",
    },
    # This folder alone executes all stages: read, analyse, explain, advise, prove.
    "tools/pipeline": {
        "tools/inputs",
        "tools/analysis/accounts",
        "tools/analysis/explain",
        "tools/analysis/advice",
        "tools/analysis/facts",
        "tools/replay",
        "tools/base",
    },
    "tools/inputs": {
        "tools/analysis/facts",
        "tools/analysis/accounts",
        "tools/formats",
        "tools/symbols",
        "tools/base",
        "tracer/format",
        "base",
    },
    # The folders of the analysis, in the order in which data flow through them. All of them fill
    # the facts, whose folder is at the bottom.
    "tools/analysis/facts": {"tools/base", "tracer/format", "base"},
    "tools/analysis/accounts": {"tools/analysis/facts", "tools/base", "tracer/format", "base"},
    "tools/analysis/fidelity": {"tools/analysis/accounts", "base"},
    "tools/analysis/explain": {"tools/analysis/facts"},
    "tools/analysis/advice": {
        "tools/analysis/explain",
        "tools/analysis/facts",
        "tools/base",
        "base",
    },
    "tools/replay": {
        "tools/analysis/facts",
        "tools/analysis/accounts",
        "tools/formats",
        "tools/base",
        "allocator/core",
        "allocator/pool",
        "allocator/offload",
        "tracer/format",
        "base",
    },
    "tools/symbols": {"tracer/format", "base"},
    "tools/formats": {"tools/base", "tracer/format", "base"},
    "tools/report": {
        "tools/analysis/facts",
        "tools/analysis/accounts",
        "tools/analysis/explain",
        "tools/json",
        "tools/terminal",
        "tools/base",
        "base",
    },
    "tools/base": {"base"},
}
# Includes that still run in the wrong direction: (folder, folder that it must not include in the
# end). This list only shrinks.
RUNS_BACK: set[tuple[str, str]] = set()
# Libraries that are included with quotes, as their own style demands. None of them may be used in
# code that runs in a foreign process.
LIBRARIES = ("absl/", "nlohmann/", "CLI/")
# The simulator is a project of its own: other folders may include only this header of it.
SHARED = "simulator/simulator_api.h"
ANYTHING = ("tests/", "bench/", "examples/")


def room_of(path: str) -> str | None:
    rooms = [room for room in RULE if path.startswith(room + "/")]
    return max(rooms, key=len) if rooms else None


def violations_in(path: str, text: str) -> list[str]:
    room = room_of(path)
    if room is None:
        return []
    of_simulator = room.startswith("simulator")
    found = []
    for included in tree.INCLUDE.findall(text):
        if included.startswith("vramstow/"):
            included = "include/" + included
        if included.startswith(LIBRARIES):
            if not room.startswith("tools"):
                found.append(f"{path} includes {included}: only tools may use libraries")
            continue
        other = room_of(included)
        if other is None:
            # A header of CUDA or a file that the build makes must be included with <>.
            found.append(f"{path} includes {included}, which is in no room")
        elif other == SHARED.partition("/")[0] and included != SHARED and not of_simulator:
            found.append(f"{path} includes {included}: only {SHARED} is for other rooms")
        elif other != room and other not in RULE[room] and not room.startswith(other + "/"):
            found.append(f"{path} includes {included}: {room} may not look into {other}")
    return found


def test_every_include_stays_within_the_rule() -> None:
    found = []
    for path in tree.code(".h", ".cc", ".c", ".def", ".S"):
        name = tree.relative(path)
        if not name.startswith(ANYTHING):
            found += violations_in(name, path.read_text())
    assert not found, "\n".join(found)


def test_every_source_file_is_in_a_room() -> None:
    strangers = [
        name
        for name in map(tree.relative, tree.code())
        if room_of(name) is None and not name.startswith(ANYTHING)
    ]
    assert not strangers, "no room has: " + ", ".join(strangers)


Arrows = dict[str, dict[str, list[str]]]


def real_arrows() -> Arrows:
    """Maps each room to the other rooms that it includes, and those to the includes."""
    arrows: Arrows = defaultdict(lambda: defaultdict(list))
    for path in tree.code(".h", ".cc", ".c", ".def", ".S"):
        name = tree.relative(path)
        room = room_of(name)
        if room is None:
            continue
        for included in tree.INCLUDE.findall(path.read_text()):
            other = room_of(re.sub("^vramstow/", "include/vramstow/", included))
            if other is not None and other != room:
                arrows[room][other].append(f"{name} includes {included}")
    return arrows


def circle_in(arrows: Mapping[str, Iterable[str]]) -> list[str]:
    """Returns rooms that include each other in a cycle; empty if there is no cycle."""
    done: set[str] = set()

    def walk(room: str, path: list[str]) -> list[str]:
        if room in path:
            return [*path[path.index(room) :], room]
        if room in done:
            return []
        done.add(room)
        for other in sorted(arrows.get(room, ())):
            if found := walk(other, [*path, room]):
                return found
        return []

    return next((found for room in sorted(arrows) if (found := walk(room, []))), [])


def forward(arrows: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    return {
        room: {other for other in others if (room, other) not in RUNS_BACK}
        for room, others in arrows.items()
    }


def test_no_arrow_of_the_rule_runs_back() -> None:
    circle = circle_in(forward(RULE))
    assert not circle, "these rooms may include one another: " + " -> ".join(circle)


def test_no_include_runs_back() -> None:
    arrows = real_arrows()
    circle = circle_in(forward(arrows))
    includes = [arrows[one][other][0] for one, other in pairwise(circle)]
    assert not circle, f"{' -> '.join(circle)}: {'; '.join(includes)}"


def test_what_is_said_to_run_back_still_does() -> None:
    arrows = real_arrows()
    mended = {pair for pair in RUNS_BACK if not arrows.get(pair[0], {}).get(pair[1])}
    assert not mended, f"take these off RUNS_BACK: {mended}"


def test_a_circle_is_found() -> None:
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"d", "b"}}) == ["b", "c", "b"]


@pytest.mark.parametrize(
    ("path", "included"),
    [
        ("base/units.h", "tracer/recorder.h"),
        ("simulator/device/memory.h", "simulator/driver/entry.h"),
        ("simulator/kernels/named/blas.cc", "simulator/device/contents.h"),
        ("simulator/runtime/cudart/stream.cc", "simulator/device/clock.h"),
        ("tracer/recorder.h", "interpose/core/runtime/core.h"),
        ("tools/run.cc", "simulator/device/spec.h"),
        ("tools/launch/driver.cc", "simulator/driver/call.h"),
        ("tracer/recorder.cc", "absl/strings/str_cat.h"),
        ("tools/analysis/accounts/peak.h", "tools/report/text_report.h"),
        ("tools/analysis/accounts/peak.h", "tools/analysis/explain/explain.h"),
        ("tools/analysis/explain/iterations.h", "tools/analysis/accounts/levels.h"),
        ("tools/inputs/open_input.cc", "tools/replay/proof.h"),
        ("tools/replay/proof.cc", "tools/analysis/advice/order.h"),
        ("tools/launch/child.cc", "tools/commands/command.h"),
    ],
)
def test_the_rule_notices(path: str, included: str) -> None:
    assert violations_in(path, f'#include "{included}"\n')


def test_the_architecture_page_names_every_room() -> None:
    page = (tree.ROOT / "docs/architecture.md").read_text()
    for room in RULE:
        if any(tree.relative(path).startswith(room + "/") for path in tree.files()):
            assert f"`{room}/" in page or f"`{room}`" in page, f"docs/architecture.md lacks {room}"


def test_every_room_has_a_readme_of_about_ten_lines() -> None:
    for room in RULE:
        if room in ("include/vramstow", "interpose"):
            continue
        readme = tree.ROOT / room / "README.md"
        assert readme.exists(), f"{room} has no README.md"
        lines = readme.read_text().splitlines()
        assert 3 <= len(lines) <= 40, f"{room}/README.md has {len(lines)} lines"
