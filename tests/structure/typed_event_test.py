"""Only base/typed_event.h makes events whose fields have a special meaning."""

from __future__ import annotations

import re

from tree import ROOT

TYPED = (
    "Refused",
    "MemoryInfo",
    "Mark",
    "Gap",
    "CacheStitch",
    "CacheHook",
    "CacheFenceWait",
    "Activity",
    "Correlation",
    "Offload",
    "Return",
    "Launch",
    "Touch",
    "ModelClock",
    "ModelWork",
)
MADE = re.compile(r"\bkind\s*=\s*EventKind::k(" + "|".join(TYPED) + r")\b")
ROOMS = ("allocator", "interpose", "tracer", "tools", "adapters", "bench")


def test_special_events_have_makers() -> None:
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if MADE.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found, "make these by base/typed_event.h:\n" + "\n".join(found)


def test_the_pattern_sees_what_it_is_for() -> None:
    assert MADE.search("  event.kind = EventKind::kLaunch;")
    assert MADE.search("{.size = 1, .kind = EventKind::kMemoryInfo}")
    assert not MADE.search("if (event.kind == EventKind::kLaunch) return;")
    assert not MADE.search("event.kind = EventKind::kFree;")
