"""The analyzer: JSON, text and page of the corpus and of the golden traces.

Keys of the JSON may change their order; the bytes of text and page may change with their words.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from functools import partial
from pathlib import Path

import golden

TRACES = golden.ROOT / "tests/tracer/golden"
EXPORTS = ("csv", "rmm", "chrome", "folded", "speedscope")


def vramstow(build: Path, *arguments: str | Path, cwd: Path) -> str:
    """Returns the command's standard output. Paths are relative, so that outputs name no folder."""
    environment = {name: text for name, text in os.environ.items() if "VRAMSTOW" not in name}
    result = subprocess.run(
        [build / "bin/vramstow", *arguments],
        cwd=cwd,
        env=environment | {"LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise AssertionError(f"vramstow {' '.join(map(str, arguments))}: {result.stderr}")
    return result.stdout


def canonical(text: str) -> str:
    return json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def as_json(build: Path, _: Path, inputs: list[str], cwd: Path) -> str:
    return canonical(vramstow(build, "analyze", "--json", *inputs, cwd=cwd))


def as_text(build: Path, _: Path, inputs: list[str], cwd: Path) -> str:
    return vramstow(build, "analyze", "--full", *inputs, cwd=cwd)


def as_screen(build: Path, _: Path, inputs: list[str], cwd: Path) -> str:
    return vramstow(build, "analyze", *inputs, cwd=cwd)


def as_page(build: Path, folder: Path, inputs: list[str], cwd: Path) -> str:
    page = folder / "page.html"
    vramstow(build, "report", *inputs, "-o", page, cwd=cwd)
    return page.read_text()


def difference(build: Path, _: Path, inputs: list[str], cwd: Path) -> str:
    found = vramstow(build, "diff", "--json", *inputs[:2], cwd=cwd)
    return canonical(found) + vramstow(build, "diff", *inputs[:2], cwd=cwd)


def replayed(build: Path, _: Path, inputs: list[str], cwd: Path) -> str:
    return canonical(vramstow(build, "replay", "--json", *inputs[:1], cwd=cwd))


def of_traces(make: golden.Callable[..., str], build: Path, folder: Path) -> golden.Outputs:
    names = sorted(path.name for path in TRACES.glob("*.stow"))
    for name in names:
        yield name, make(build, folder, [name], TRACES)
    # The last output is the analysis of all traces together, as several ranks of one job.
    yield "all-traces", make(build, folder, names, TRACES)


def of_corpus(make: golden.Callable[..., str], build: Path, folder: Path) -> golden.Outputs:
    cwd = golden.corpus()
    snapshots = sorted(path.name for path in cwd.glob("*.pickle"))
    others = ["memory_timeline.raw.gz"]
    others += sorted(f"minimalloc/{path.name}" for path in cwd.glob("minimalloc/*.csv"))
    for name in [*snapshots, *others]:
        yield name, make(build, folder, [name], cwd)
    yield "two-ranks", make(build, folder, snapshots[1:3], cwd)


def exports(build: Path, _: Path) -> golden.Outputs:
    for path in sorted(TRACES.glob("*.stow")):
        for form in EXPORTS:
            exported = vramstow(build, "export", path.name, "--to", form, cwd=TRACES)
            yield f"{path.name}-{form}", exported


def differences(build: Path, folder: Path) -> golden.Outputs:
    names = sorted(path.name for path in TRACES.glob("*.stow"))
    for before, after in zip(names, names[2:], strict=False):
        yield f"{before}-{after}", difference(build, folder, [before, after], TRACES)


def corpus_differences(build: Path, folder: Path) -> golden.Outputs:
    cwd = golden.corpus()
    names = sorted(path.name for path in cwd.glob("lm-*.pickle"))
    for before, after in itertools.pairwise(names):
        yield f"{before}-{after}", difference(build, folder, [before, after], cwd)


def corpus_replays(build: Path, folder: Path) -> golden.Outputs:
    cwd = golden.corpus()
    for path in sorted(cwd.glob("lm-*.pickle")):
        yield path.name, replayed(build, folder, [path.name], cwd)


SECTIONS = {
    "traces-json": partial(of_traces, as_json),
    "traces-text": partial(of_traces, as_text),
    "traces-screen": partial(of_traces, as_screen),
    "traces-page": partial(of_traces, as_page),
    "traces-export": exports,
    "traces-diff": differences,
    "corpus-json": partial(of_corpus, as_json),
    "corpus-text": partial(of_corpus, as_text),
    "corpus-screen": partial(of_corpus, as_screen),
    "corpus-page": partial(of_corpus, as_page),
    "corpus-diff": corpus_differences,
    "corpus-replay": corpus_replays,
}
