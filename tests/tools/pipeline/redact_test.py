"""Tests --redact: pages, reports and exports without private names.

The job runs in folders whose names appear nowhere else, so that the outputs can be searched for
each of them.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from built import VRAMSTOW, run_program, run_vramstow
from corpus import corpus_file
from installation import CUDA_BEGINS

USER = "quirinalda"
# Names of folders; the first two form a home folder.
FOLDERS = ("home", USER, "zwetschge", "birne mit komma, und mehr", "quitte.v2", "mispel")
ARGUMENTS = ("--passage", "holunder", "--steps=3", "--config=vogelbeere/sanddorn.yaml", "17")

# The job allocates memory, records marks with paths and names in them, and runs out of memory, all
# from a file deep in folders.
JOB = """
import ctypes, os, socket
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
us = ctypes.CDLL(None)
def take(size):
    address = ctypes.c_uint64()
    return cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
def step():
    for text in (os.path.abspath(__file__), socket.gethostname(), "step of " + os.environ["USER"],
                 "read " + os.path.dirname(os.path.abspath(__file__)) + " now"):
        us.vramstow_mark(text.encode())
        us.vramstow_range_push(text.encode())
        assert take(1 << 20) == 0
        us.vramstow_range_pop()
for _ in range(3):
    step()
assert take(1 << 50) == 2
"""


@dataclass
class Recorded:
    home: Path
    folder: Path
    trace: Path

    def vramstow(self, *arguments: str | Path, cwd: Path | None = None) -> str:
        """Runs the program as that user."""
        environment = os.environ | {"USER": USER, "LOGNAME": USER, "HOME": str(self.home)}
        environment["VRAMSTOW_PYTHON"] = sys.executable
        result = run_vramstow(*arguments, cwd=cwd or self.folder, env=environment, timeout=120)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def told(self, *text: str) -> list[str]:
        """Returns the names of the user, the host and the folders that the texts contain as whole
        words."""
        words = [*FOLDERS[1:], "birne", "komma", "holunder", "vogelbeere", "sanddorn"]
        words += [socket.gethostname(), str(self.home), str(self.folder), str(Path.cwd())]
        words += [str(folder) for folder in self.folder.parents if folder != Path("/")]
        words += [str(Path(sys.executable).parent), str(Path(sys.executable).resolve().parent)]
        words += [str(VRAMSTOW.parent), str(VRAMSTOW.parents[1] / "lib")]
        # The short name of a host may occur in a binary file by chance.
        whole = {
            word: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE) for word in words
        }
        return [word for word in words if any(whole[word].search(one) for one in text)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    root = tmp_path_factory.mktemp("root")
    folder = root.joinpath(*FOLDERS)
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(JOB)
    one = Recorded(root / "home" / USER, folder, folder / "trace.stow")
    one.vramstow(
        *("run", "--simulate=h100,memory=2GiB", "--stacks=sites", "--trace-dir", folder, "--"),
        *(sys.executable, folder / "train.py", *ARGUMENTS),
    )
    [trace] = folder.glob("*.stow")
    trace.rename(one.trace)
    return one


def page_of(recorded: Recorded, *flags: str) -> str:
    page = recorded.folder / "page.html"
    recorded.vramstow("report", recorded.trace, *flags, "-o", page)
    return page.read_text()


def test_the_page_names_no_host_user_or_folder(recorded: Recorded) -> None:
    # A page that was made without --redact contains the names. This shows that the test can fail.
    open_page = page_of(recorded)
    for word in (
        USER,
        socket.gethostname(),
        "holunder",
        "sanddorn",
        "mispel",
        str(recorded.folder),
    ):
        assert word in open_page, word
    assert recorded.told(page_of(recorded, "--redact")) == []


def test_the_page_still_says_where_the_memory_went(recorded: Recorded) -> None:
    page = page_of(recorded, "--redact")
    assert re.search(r"train\.py:\d+ take", page)
    assert "libcuda.so" in page
    facts = json.loads(recorded.vramstow("analyze", recorded.trace, "--redact", "--json"))
    plain = json.loads(recorded.vramstow("analyze", recorded.trace, "--json"))
    for part in ("peak", "counts", "histogram", "timeline", "devices"):
        assert facts[part] == plain[part], part
    assert facts["input"]["file"] == "trace.stow"
    assert facts["process"]["host"] == "***"
    assert facts["process"]["program"] == Path(sys.executable).resolve().name
    assert facts["process"]["command"] == (
        f"{Path(sys.executable).name} *** train.py --passage *** --steps=3 --config=*** 17"
    )
    assert facts["facts"]["option.trace_dir"] == "***"
    assert facts["facts"]["option.stacks"] == "sites"


def test_reports_from_another_folder_and_of_a_folder_name_nobody(
    recorded: Recorded, tmp_path: Path
) -> None:
    (recorded.folder / "damaged.stow").write_bytes(b"no trace")
    try:
        for flags in ([], ["--full"], ["--json"]):
            for given in (recorded.trace, recorded.folder):
                told = recorded.vramstow("analyze", given, "--redact", *flags, cwd=tmp_path)
                assert recorded.told(told) == []
        # The path in this command is relative and begins with the folder's name.
        told = recorded.vramstow(
            *("analyze", "mispel", "--redact", "--json"), cwd=recorded.folder.parent
        )
        assert recorded.told(told) == []
        assert "damaged.stow" in told
    finally:
        (recorded.folder / "damaged.stow").unlink()


@pytest.mark.parametrize(
    "name", ["csv", "rmm", "snapshot", "chrome", "perfetto", "pprof", "folded", "speedscope"]
)
def test_an_export_names_nobody(recorded: Recorded, tmp_path: Path, name: str) -> None:
    output = tmp_path / "export"
    recorded.vramstow("export", recorded.trace, "--to", name, "--redact", "-o", output)
    raw = output.read_bytes()
    if name == "pprof" and raw.startswith(b"\x1f\x8b"):
        raw = gzip.decompress(raw)
    assert raw
    assert recorded.told(raw.decode("latin-1")) == []
    if name in ("snapshot", "folded", "speedscope", "pprof"):
        assert b"train.py" in raw


SECRETIVE = """
typedef int (*Allocate)(unsigned long long*, unsigned long);
__attribute__((noinline)) int kept_among_us(Allocate allocate, unsigned long size) {
  unsigned long long address = 0;
  int result = allocate(&address, size);
  __asm__ volatile("");
  return result;
}
"""
CALLER = f"""{CUDA_BEGINS}
assert ctypes.CDLL(sys.argv[1]).kept_among_us(cuda.cuMemAlloc_v2, ctypes.c_ulong(1 << 20)) == 0
"""


def test_a_library_that_a_trace_does_not_identify_is_not_looked_up(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "secretive.c").write_text(SECRETIVE)
    library = tmp_path / "libsecretive.so"
    run_program(
        *(compiler, "-shared", "-fPIC", "-O1", "-Wl,--build-id=none", "-o", library),
        tmp_path / "secretive.c",
        check=True,
    )
    run_vramstow(
        *("run", "--simulate=h100", "--stacks=all", "--trace-dir", tmp_path, "--"),
        *(sys.executable, "-c", CALLER, library),
        check=True,
    )
    [trace] = tmp_path.glob("*.stow")
    snapshot = run_vramstow("export", "--to", "snapshot", trace, text=False)
    assert b"kept_among_us" in snapshot.stdout
    snapshot = run_vramstow("export", "--to", "snapshot", "--redact", trace, text=False)
    assert snapshot.returncode == 0
    assert b"kept_among_us" not in snapshot.stdout
    for command in (["analyze", "--json"], ["report", "-o", "-"]):
        told = run_vramstow(*command, trace, "--redact", check=True)
        assert "kept_among_us" not in told.stdout


def test_parquet_names_nobody(recorded: Recorded, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    recorded.vramstow("export", recorded.trace, "--to", "parquet", "--redact", "-o", tmp_path / "p")
    tables = [parquet.read_table(file) for file in (tmp_path / "p").rglob("*.parquet")]
    assert sum(table.num_rows for table in tables) > 10
    texts = [str(table.to_pylist()) + str(table.schema.metadata) for table in tables]
    assert recorded.told(*texts) == []


@pytest.mark.parametrize(
    "name", ["lm-medium-ctx128-training.pickle", "rl-training-pools-no-events.pickle"]
)
def test_no_folder_of_a_snapshot_is_on_its_page(
    recorded: Recorded, tmp_path: Path, name: str
) -> None:
    snapshot = corpus_file(name)
    folders: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(file := value.get("filename"), str) and file.startswith("/"):
                folders.add(str(Path(file).parent))
            for one in value.values():
                collect(one)
        elif isinstance(value, (list, tuple)):
            for one in value:
                collect(one)

    collect(pickle.loads(snapshot.read_bytes()))
    assert folders
    page = tmp_path / "page.html"
    recorded.vramstow("report", snapshot, "--redact", "-o", page)
    text = page.read_text()
    assert [folder for folder in folders if folder != "/" and folder in text] == []
    assert str(snapshot.parent) not in text
    for user in {folder.split("/")[2] for folder in folders if folder.startswith("/home/")}:
        assert not re.search(rf"\b{re.escape(user)}\b", text), user


def test_a_snapshot_is_exported_with_the_same_memory_and_without_its_folders(
    recorded: Recorded, tmp_path: Path
) -> None:
    snapshot = corpus_file("lm-medium-ctx128-training.pickle")
    redacted = tmp_path / "redacted.pickle"
    recorded.vramstow("export", snapshot, "--to", "snapshot", "--redact", "-o", redacted)
    text = redacted.read_bytes()
    assert b"/home/" in snapshot.read_bytes() and b"model.py" in text
    assert b"/home/" not in text and b"site-packages" not in text
    peaks = [
        json.loads(recorded.vramstow("analyze", "--json", file))["peak"]["allocated_bytes"]
        for file in (snapshot, redacted)
    ]
    assert peaks[0] == peaks[1]


def test_ranks_on_hosts_are_compared_without_the_hosts_names(
    recorded: Recorded, tmp_path: Path
) -> None:
    for rank in range(2):
        environment = os.environ | {"RANK": str(rank)}
        subprocess.run(
            [
                *(VRAMSTOW, "run", "--simulate=h100", "--trace-dir", tmp_path, "--"),
                *(sys.executable, recorded.folder / "train.py"),
            ],
            env=environment | {"USER": USER},
            capture_output=True,
            timeout=120,
            check=False,
        )
    plain = json.loads(recorded.vramstow("analyze", tmp_path, "--json"))
    assert plain["rank_comparison"]["straggler"]["host"] == socket.gethostname()
    told = recorded.vramstow("analyze", tmp_path, "--redact", "--json")
    assert json.loads(told)["rank_comparison"]["straggler"]["host"] == "***"
    assert socket.gethostname() not in told
