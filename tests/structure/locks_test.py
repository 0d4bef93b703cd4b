"""Every lock has a comment about what it guards, and its order is listed in docs/contracts.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import sizes
import tree

ROOMS = ("allocator/", "interpose/", "simulator/", "tracer/")
LOCK = re.compile(
    r"\b(?:Fast|Owner|Locked|Signal)?Mutex$|\bstd::(?:recursive_|shared_|timed_)?mutex$"
)
# Locks that no annotation in their own file mentions, each with the reason.
REASONS: dict[str, str] = {
    "DeviceMutex::mutex_": "guards what asks for kDeviceLock, in all rooms of the allocator",
}
# Locks that are not annotated yet. This list only shrinks.
NOT_ANNOTATED: set[str] = set()
# Locks that are missing in docs/contracts.md. This list only shrinks.
NOT_ON_THE_PAGE: set[str] = set()


@dataclass(frozen=True)
class Lock:
    name: str  # Pool::mutex_, or for a variable FILE::lock
    member: str
    path: str

    def spellings(self) -> set[str]:
        """Returns the full name of a lock, and its member's name unless that is a common one."""
        common = self.member in ("mutex", "mutex_", "lock", "lock_")
        return {self.name} if common else {self.name, self.member}


def locks(root: Path, names: list[str]) -> list[Lock]:
    found = []
    for tag in sizes.tags(root, names, kinds="mvl", fields="+neKsSt"):
        kind = str(tag.get("typeref", "")).removeprefix("typename:")
        if not LOCK.search(kind):
            continue
        member, path = str(tag["name"]), str(tag["path"])
        if tag.get("scopeKind") in ("class", "struct"):
            scope = str(tag["scope"]).rpartition("::")[2]
        else:
            scope = Path(path).stem
        found.append(Lock(f"{scope}::{member}", member, path))
    return found


def annotated(lock: Lock, text: str) -> bool:
    return bool(re.search(rf"VRAMSTOW_[A-Z_]+\((?:[^()]*\W)?{lock.member}\b", text))


def all_locks() -> list[Lock]:
    names = [tree.relative(path) for path in tree.code(".h", ".cc")]
    rooms = [name for name in names if name.startswith(ROOMS)]
    found = locks(tree.ROOT, rooms)
    assert len(found) > 15, "the parser saw too little"
    return found


def test_every_lock_is_named_by_what_it_guards() -> None:
    bare = {
        lock.name: lock.path
        for lock in all_locks()
        if not annotated(lock, (tree.ROOT / lock.path).read_text())
    }
    listed = NOT_ANNOTATED | REASONS.keys()
    new = {name: path for name, path in bare.items() if name not in listed}
    assert not new, (
        f"say what these guard, with VRAMSTOW_GUARDED_BY (base/thread_annotations.h): {new}"
    )
    assert not listed - bare.keys(), (
        f"take these off the lists in {__file__}: {listed - bare.keys()}"
    )


def test_every_lock_stands_on_the_page_with_its_order() -> None:
    page = (tree.ROOT / "docs/contracts.md").read_text()
    part = page[page.index("## Locks and their order") :]
    words = set(re.findall(r"`([^`]+)`", part))
    missing = {lock.name for lock in all_locks() if not lock.spellings() & words}
    assert not missing - NOT_ON_THE_PAGE, f"docs/contracts.md lacks {missing - NOT_ON_THE_PAGE}"
    done = NOT_ON_THE_PAGE - missing
    assert not done, f"take these off the list in {__file__}: {done}"


def test_a_lock_is_found_wherever_it_is_declared(tmp_path: Path) -> None:
    (tmp_path / "some.cc").write_text(
        "namespace vramstow {\n"
        "class Owner {\n  mutable Mutex mutex_;\n  Mutex* theirs_;\n  int bare_;\n"
        "  int count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;\n};\n"
        "namespace {\nconstinit std::mutex lock;\n}\n"
        "void Do() {\n  static std::shared_mutex once;\n}\n}\n"
    )
    found = {lock.name: lock for lock in locks(tmp_path, ["some.cc"])}
    assert sorted(found) == ["Owner::mutex_", "some::lock", "some::once"]
    text = (tmp_path / "some.cc").read_text()
    assert annotated(found["Owner::mutex_"], text)
    assert not annotated(found["some::lock"], text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("int a VRAMSTOW_GUARDED_BY(mutex_);", True),
        ("void F() VRAMSTOW_REQUIRES(pool_->mutex_);", True),
        ("void F() VRAMSTOW_EXCLUDES(hook_mutex_);", False),
        ("// guarded by mutex_", False),
    ],
)
def test_an_annotation_names_the_lock(text: str, named: bool) -> None:
    assert annotated(Lock("Pool::mutex_", "mutex_", "pool.h"), text) == named


# A lock that is the last statement of its block, or the whole body of an if or a loop: it is taken
# and released only for the other effects of its constructor.
HELD_FOR_NOTHING = re.compile(
    r"(?:\)|\belse)\s*(?:\w+::)*\w*Lock \w+[({][^;]*;"
    r"|^\s*(?:\w+::)*\w*Lock \w+[({][^;]*;\s*\}",
    re.MULTILINE,
)


def test_no_lock_is_taken_for_nothing() -> None:
    found = [
        f"{tree.relative(path)}: {one.group().strip()}"
        for path in tree.code(".h", ".cc")
        if tree.relative(path).startswith(ROOMS)
        for one in HELD_FOR_NOTHING.finditer(path.read_text())
    ]
    assert not found, f"call what the lock is meant to do by its name: {found}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("if (heap->parked_count != 0) HeapLock lock(heap);\n", True),
        ("if (any) {\n  HeapLock lock(heaps_[number]);\n}\n", True),
        ("HeapLock lock(heap);\nheap->FlushDeferred();\n", False),
        ("explicit HeapLock(StreamHeap* heap) : heap_(heap) { heap_->mutex.Lock(); }\n", False),
    ],
)
def test_a_lock_for_nothing_is_noticed(text: str, found: bool) -> None:
    assert bool(HELD_FOR_NOTHING.search(text)) == found
