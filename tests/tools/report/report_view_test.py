"""Tests a reader's actions on the page of vramstow report: areas, details, search, tables, two
runs."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser
from corpus import corpus_file
from report_pages import MIB, make_page, own_trace, readout, show, snapshot, vramstow

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here: setup/packages-test.txt names it"
)
TRAINING = "lm-medium-ctx128-training.pickle"
VIEW = "window.vramstow"
LIBRARY = "/usr/lib/python3/dist-packages/torch/nn/modules/module.py"
KINDS = ["category", "module", "line", "tensor"]


@pytest.fixture
def narrow(browser: Browser) -> Iterator[Browser]:
    """Makes the browser as narrow as a telephone."""
    size = {"height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", width=390, **size)
    yield browser
    browser.call("Emulation.setDeviceMetricsOverride", width=1280, **size)


def program(folder: Path) -> Path:
    """Returns a job of four blocks: two of one line, one of another, one from a library's loop."""
    script = folder / "train.py"
    script.write_text("import torch\n\n\ndef step(x):\n    return x @ x\n\n\nstep(torch.ones(3))\n")
    own = [(str(script), 5, "step"), (str(script), 8, "<module>")]
    calls = [(LIBRARY, line, "_call_impl") for line in (1501, 1502, 1503, 1504)]
    return snapshot(
        folder / "job.pickle",
        [
            ("alloc", 0x1000_0000, 64 * MIB, 1_000, own),
            ("alloc", 0x2000_0000, 32 * MIB, 2_000, calls + own),
            ("alloc", 0x3000_0000, 16 * MIB, 3_000, [(str(script), 8, "<module>")]),
            ("free_completed", 0x1000_0000, 64 * MIB, 4_000, own),
            ("alloc", 0x4000_0000, 8 * MIB, 5_000, [("/nowhere/other.py", 3, "load")]),
        ],
    )


def log(path: Path, rows: list[tuple[str, str, int, int]]) -> Path:
    """Writes a log of RMM: time, action, address, bytes."""
    lines = [f"1,{time},{action},{address:#x},{size},0x0" for time, action, address, size in rows]
    path.write_text("Thread,Time,Action,Pointer,Size,Stream\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_the_areas_of_each_moment_add_up_to_what_was_allocated(
    browser: Browser, tmp_path: Path, kind: str
) -> None:
    facts = show(browser, tmp_path, corpus_file(TRAINING))
    if not browser.run(f"Grouping.isKnown({VIEW}.model, '{kind}')"):
        assert browser.run(
            f"document.querySelectorAll('#grouping button')[{KINDS.index(kind)}].disabled"
        )
        return
    browser.click(f"#grouping button:nth-child({KINDS.index(kind) + 1})")
    assert browser.run(f"{VIEW}.grouping.kind") == kind
    stack = f"{VIEW}.timeline.stack"
    columns = browser.run(
        f"[...{stack}.levels].map((level, i) => [level, {stack}.rows.reduce((s, r) => s + r[i], 0),"
        f" {stack}.rest[i]])"
    )
    assert len(columns) > 500
    for level, known, rest in columns:
        assert known + rest == level
    assert max(level for level, _, _ in columns) == facts["peak"]["allocated_bytes"]


def test_the_areas_by_category_are_those_of_the_facts(browser: Browser, tmp_path: Path) -> None:
    facts = show(browser, tmp_path, corpus_file(TRAINING))
    stack = (
        f"new Stack({VIEW}.groupingOf({VIEW}.model, 'category'), {VIEW}.timeline.axisOf('event'),"
    )
    peak = f"{VIEW}.model.peakEvent"
    parts = browser.run(
        f"(() => {{ const s = {stack} {peak} - 1, {peak}, 1, null);"
        " return s.at(0).map((p) => [s.nameOf(p.group), p.bytes]); })()"
    )
    assert dict(parts) == {
        row["category"].replace("_", " "): row["bytes_at_peak"] for row in facts["by_category"]
    }


def test_pointing_at_a_moment_names_the_largest_first(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, program(tmp_path))
    browser.key("3")
    browser.mouse("mouseMoved", browser.place("#timeline", 0.65, 0.9))
    told = browser.run("[...document.querySelectorAll('#tip .name')].map((e) => e.textContent)")
    sizes = browser.run("[...document.querySelectorAll('#tip .rows .n')].map((e) => e.textContent)")
    assert told == ["train.py:5 step", "train.py:8 <module>"]
    assert sizes == ["96.0 MiB", "16.0 MiB"]


def test_a_long_idle_start_is_folded_away_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    rows = [(f"00:01:00:{i:06}", "allocate", 0x1000 * (i + 1), 512) for i in range(1, 200)]
    first = [("00:00:00:000001", "allocate", 0x10, 512)]
    show(browser, tmp_path, log(tmp_path / "idle.csv", first + rows))
    axis = f"{VIEW}.timeline.axis"
    assert browser.run(f"{axis}.kind") == "folded"
    [fold] = browser.run(f"{axis}.folds.map((f) => [f.from, f.to])")
    assert fold[1] - fold[0] == pytest.approx(60e9, rel=1e-3)
    # On the folded axis the last part of the run has nearly all of the width. On the axis of time
    # it was a thin line at the right edge.
    assert browser.run(f"{axis}.placeOfTime({fold[1]}) / {axis}.end") < 0.1
    for time in (0, 1_000, 30e9, fold[1], 60.0001e9):
        assert browser.run(f"{axis}.timeAt({axis}.placeOfTime({time}))") == pytest.approx(time)
    browser.run(
        "(() => { const s = document.getElementById('axis'); s.value = 'time';"
        " s.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run(f"{axis}.folds.length") == 0
    assert browser.run(f"{axis}.placeOf(3) / {axis}.end") > 0.9
    assert browser.errors == []


def test_failures_and_iterations_are_marked(browser: Browser, tmp_path: Path) -> None:
    rows = [
        ("00:00:00:000001", "allocate", 0x1000, MIB),
        ("00:00:00:000002", "allocate failure", 0, 9 * MIB),
    ]
    rows += [("00:00:00:000003", "free", 0x1000, MIB)]
    facts = show(browser, tmp_path, log(tmp_path / "failure.csv", rows))
    assert facts["counts"]["out_of_memory"] == 1
    written = browser.run(
        f"(() => {{ const said = []; const pen = CanvasRenderingContext2D.prototype;"
        " const write = pen.fillText; pen.fillText = function(text, ...at) {"
        " said.push(text); write.call(this, text, ...at); };"
        f" {VIEW}.timeline.draw(); pen.fillText = write; return said; }})()"
    )
    assert "out of memory: 9.00 MiB" in written


def test_a_strip_shows_when_the_process_had_its_turn(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, own_trace(tmp_path, "turns"))
    spans = browser.run(f"{VIEW}.model.turns.map(t => [t.state, t.end - t.begin])")
    assert spans == [["waits", 2], ["turn", 2]]
    first = browser.run(f"{VIEW}.model.turns[0].begin")
    states = [browser.run(f"turnAt({VIEW}.model, {first} + {ahead})") for ahead in (0, 1, 2, 4)]
    waits, turn = "waits for its turn", "its turn on the GPU"
    assert states == [waits, waits, turn, ""]
    legend = browser.run("document.getElementById('time-legend').textContent")
    assert "waits for its turn" in legend and "paused" not in legend
    assert browser.errors == []


def test_a_block_tells_its_lines_first_and_folds_those_of_libraries(
    browser: Browser, tmp_path: Path
) -> None:
    show(browser, tmp_path, program(tmp_path))
    browser.run(f"{VIEW}.keep({VIEW}.model.blocks.life(1))")
    side = "document.getElementById('side')"
    assert browser.run(f"{side}.querySelector('h2').textContent") == "Block of 32.0 MiB"
    own = browser.run(
        f"[...{side}.querySelectorAll('ol.stack > li > div > code')].map((e) => e.textContent)"
    )
    assert own == ["train.py:5 step", "train.py:8 <module>"]
    here = browser.run(f"[...{side}.querySelectorAll('pre .here')].map((e) => e.textContent)")
    assert here == ["5    return x @ x", "8step(torch.ones(3))"]
    folded = browser.run(
        f"[...{side}.querySelectorAll('.stack details')]"
        ".map((e) => [e.open, e.querySelector('summary').textContent])"
    )
    assert folded == [[False, "5 frames of libraries"]]
    # A frame whose source file does not exist is shown only by name.
    browser.run(f"{VIEW}.keep({VIEW}.model.blocks.life(3))")
    assert "other.py:3 load" in browser.run(f"{side}.textContent")
    assert browser.run(f"{side}.querySelectorAll('pre').length") == 0
    browser.key("Escape")
    assert browser.run(f"{side}.hidden") is True


def test_a_page_to_be_shown_has_no_line_of_the_program(tmp_path: Path) -> None:
    job = program(tmp_path)
    assert "return x @ x" in make_page(tmp_path, job).read_text()
    assert "return x @ x" not in make_page(tmp_path, job, "--redact").read_text()


def test_a_file_that_changed_since_says_so(browser: Browser, tmp_path: Path) -> None:
    job = program(tmp_path)
    script = tmp_path / "train.py"
    show(browser, tmp_path, job)
    newer = f"[...{VIEW}.model.sources.values()].map((s) => s.is_newer)"
    assert set(browser.run(newer)) == {False}
    script.write_text("# a new line\n" + script.read_text())
    show(browser, tmp_path, job)
    assert set(browser.run(newer)) == {True}
    browser.run(f"{VIEW}.keep({VIEW}.model.blocks.life(1))")
    assert "has changed since" in browser.run("document.getElementById('side').textContent")


def test_a_click_on_an_area_or_a_row_tells_about_it(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, program(tmp_path))
    browser.key("3")
    browser.click("#timeline", 0.5, 0.85)
    title = "document.getElementById('details-title').textContent"
    assert browser.run(title) == "train.py:5 step"
    assert "96.0 MiB in 2 blocks" in browser.run(
        "document.getElementById('details-body').textContent"
    )
    browser.click("#details-close")
    browser.run(
        "[...document.querySelectorAll('#tables tr.link')].find((e) => e.textContent.includes("
        "'train.py:8')).dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.run(title) == "train.py:8 <module>"


def table_of(title: str) -> str:
    return (
        f"[...document.querySelectorAll('#tables section')].find((e) => e.querySelector('h2')"
        f".textContent.startsWith('{title}')).querySelector('.table')"
    )


def test_tables_sort_by_any_column_and_show_all(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, corpus_file(TRAINING))
    table = table_of("Call sites")
    browser.run(f"{table}.table.most = 3")
    browser.run(f"{table}.table.fill()")
    cells = f"[...{table}.querySelectorAll('tbody tr')].map((r) => r.children[%d].textContent)"
    first = browser.run(cells % 3)
    assert len(first) == 3
    assert browser.run(f"{table}.querySelector('.more').hidden") is False
    browser.run(f"{table}.querySelector('.more').click()")
    assert len(browser.run(cells % 0)) == browser.run(f"{table}.table.rows.length") > len(first)
    browser.run(f"{table}.querySelectorAll('th button')[2].click()")
    blocks = [int(text.replace(",", "")) for text in browser.run(cells % 2)]
    assert blocks == sorted(blocks, reverse=True)
    heads = f"[...{table}.querySelectorAll('th')].map((e) => e.getAttribute('aria-sort'))"
    assert browser.run(heads) == ["none", "none", "descending", "none"]
    browser.run(f"{table}.querySelectorAll('th button')[2].click()")
    blocks = [int(text.replace(",", "")) for text in browser.run(cells % 2)]
    assert blocks == sorted(blocks)
    browser.run(f"{table}.querySelectorAll('th button')[0].click()")
    sites = browser.run(cells % 0)
    assert sites == sorted(sites, key=str.lower)
    # Bytes are sorted as numbers, not as text.
    assert browser.run(
        "[bytesOrCount('1.50 GiB') > bytesOrCount('999 MiB'), bytesOrCount('1,234')]"
    ) == [True, 1234]


def test_one_search_goes_through_pictures_and_tables(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, program(tmp_path))
    browser.key("/")
    assert browser.run("document.activeElement.id") == "search"
    browser.call("Input.insertText", text="step train.py")
    browser.key("Enter")
    assert browser.run(f"[...{VIEW}.matches]") == [1, 1, 0, 0]
    assert "2 blocks, 96.0 MiB of them live at this moment" in browser.run(
        "document.getElementById('found').textContent"
    )
    # The flame graph shows only the blocks that the search has found. The stacked areas show all
    # other blocks as one area.
    assert readout(browser, "flame-readout")["total"] == 96 * MIB
    stack = f"{VIEW}.timeline.stack"
    assert browser.run(f"{stack}.nameOf(-1)") == "everything else"
    rows = browser.run(
        f"[...{table_of('Call sites')}.querySelectorAll('tbody tr')].map((r) => r.textContent)"
    )
    assert rows
    assert all("step" in row for row in rows)
    browser.key("Escape")
    assert browser.run(f"{VIEW}.matches") is None
    assert readout(browser, "flame-readout")["total"] == 112 * MIB


def test_the_contents_name_each_part_and_lead_to_it(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, corpus_file(TRAINING))
    heads = browser.run(
        "[...document.querySelectorAll('main section h2')].filter((e) => e.offsetParent)"
        ".map((e) => e.dataset.short || e.textContent)"
    )
    links = browser.run("[...document.querySelectorAll('#contents a')].map((e) => e.textContent)")
    assert links == heads
    assert len(links) > 8
    browser.run(
        "[...document.querySelectorAll('#contents a')]"
        ".find((e) => e.textContent === 'Lifetimes').click()"
    )
    assert browser.run("document.activeElement.textContent") == "Lifetimes"


def test_addresses_over_time_zoom_and_name_blocks(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, program(tmp_path))
    view = f"{VIEW}.addresses"
    browser.click("#addresses", 0.55, 0.9)
    assert browser.run(f"{view}.total") == (64 + 32 + 16 + 8) * MIB
    # The block at the bottom of the map has the lowest address.
    assert browser.run(f"{VIEW}.kept.address") == 0x1000_0000
    assert (
        browser.run("document.getElementById('details-title').textContent") == "Block of 64.0 MiB"
    )
    browser.click("#details-close")
    browser.wheel("#addresses", -120)
    assert browser.run(f"{view}.high - {view}.low") == pytest.approx(0.8 * 120 * MIB)
    browser.click("#addresses-fit")
    assert browser.run(f"{view}.high - {view}.low") == 120 * MIB
    begin, end = browser.place("#addresses", 0.3, 0.5), browser.place("#addresses", 0.8, 0.9)
    browser.mouse("mousePressed", begin, button="left", clickCount=1)
    browser.mouse("mouseMoved", end, button="left", buttons=1)
    browser.mouse("mouseReleased", end, button="left", clickCount=1)
    assert browser.run(f"{view}.high - {view}.low") < 60 * MIB
    assert browser.run(f"{VIEW}.timeline.to - {VIEW}.timeline.from") < 0.7 * 5e6
    assert browser.errors == []


def test_a_deep_recursion_does_not_stop_the_page(browser: Browser, tmp_path: Path) -> None:
    deep = [("/nowhere/deep.py", line, "visit") for line in range(20_000, 0, -1)]
    job = snapshot(
        tmp_path / "job.pickle",
        [("alloc", 0x1000_0000, 64 * MIB, 1_000, deep), ("alloc", 0x2000_0000, MIB, 2_000, [])],
    )
    show(browser, tmp_path, job)
    flame = f"{VIEW}.flame"
    assert browser.run(f"Math.max(...{flame}.cells.map((cell) => cell.top)) / 22") == 59
    assert (
        browser.run(
            f"(() => {{ let depth = 0; let node = {flame}.root; while (node.children.size) {{"
            f" node = node.children.values().next().value; ++depth; }} return depth; }})()"
        )
        > 4_000
    )
    browser.run(f"{flame}.showSites({flame}.root.children.values().next().value)")
    browser.click("#flame-inverted")
    assert browser.run(f"{flame}.inverted") is True
    assert browser.errors == []


def test_the_flame_graph_turns_over_and_folds_libraries(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, program(tmp_path))
    flame = f"{VIEW}.flame"
    names = f"[...{flame}.root.children.keys()].sort()"
    deepest = (
        "(function deep(n) { return 1 + Math.max(0, ...[...n.children.values()].map(deep)); })"
        f"({flame}.root)"
    )
    assert "train.py:8 <module>" in browser.run(names)
    total = readout(browser, "flame-readout")["total"]
    shallow = browser.run(deepest)
    browser.click("#flame-libraries")
    assert browser.run(deepest) == shallow + 4
    browser.click("#flame-libraries")
    browser.key("i")
    assert (
        browser.run("document.getElementById('flame-inverted').getAttribute('aria-pressed')")
        == "true"
    )
    assert "train.py:5 step" in json.dumps(
        browser.run(
            f"[...{flame}.root.children.values()].map((n) => [n.name, [...n.children.keys()]])"
        )
    )
    assert readout(browser, "flame-readout")["total"] == total
    browser.key("i")
    assert browser.run(f"{flame}.inverted") is False


def test_two_traces_stand_beside_one_another(browser: Browser, tmp_path: Path) -> None:
    inputs = [corpus_file(f"lm-small-forward-{kind}.pickle") for kind in ("bf16", "fp32")]
    show(browser, tmp_path, *inputs)
    facts = json.loads(vramstow("analyze", "--json", *inputs).stdout)["ranks"]
    assert browser.run("document.getElementById('compare-panel').hidden") is False
    row = browser.run(
        "[...document.querySelector('#compare-figures tbody tr').children]"
        ".map((e) => e.textContent)"
    )
    peaks = [one["peak"]["allocated_bytes"] for one in facts]
    assert row[1:] == browser.run(
        f"{peaks}.map(bytesText).concat('\\u2212' + bytesText({peaks[0] - peaks[1]}))"
    )
    differences = browser.run(
        "[...document.querySelectorAll('#compare-differences .table')].map((e) => e.table.rows"
        ".map((r) => r.row.by))[0]"
    )
    # The differences of the blocks at the two peaks add up to the difference of the peaks.
    assert sum(differences) == peaks[1] - peaks[0]
    widths = browser.run(
        "['a', 'b'].map((s) => document.getElementById(`compare-map-${s}`)"
        ".getBoundingClientRect().top)"
    )
    assert widths[0] == widths[1], "side by side"
    show(browser, tmp_path, inputs[0])
    assert browser.run("document.getElementById('compare-panel').hidden") is True


@pytest.mark.parametrize("count", [1, 5, 1000])
def test_iterations_make_sense_for_one_and_for_a_thousand(
    browser: Browser, tmp_path: Path, count: int
) -> None:
    rows = []
    for i in range(count):
        rows += [
            (f"00:00:{i // 500:02}:{i % 500 * 2000 + k * 100:06}", action, address, size)
            for k, (action, address, size) in enumerate(
                [
                    ("allocate", 0x100000, 4 * MIB),
                    ("allocate", 0x900000, MIB),
                    ("free", 0x900000, MIB),
                    ("free", 0x100000, 4 * MIB),
                ]
            )
        ]
    show(browser, tmp_path, log(tmp_path / "loop.csv", rows))
    # The iterations are set as if marks had been recorded; only their drawing is tested.
    browser.run(
        f"(() => {{ const m = {VIEW}.model;"
        f" m.iterations = Array.from({{length: {count}}}, (_, i) => ({{"
        "begin_event: 4 * i + 1, end_event: 4 * i + 5,"
        "begin_ns: m.time[4 * i], end_ns: m.time[4 * i + 3],"
        "peak_bytes: 5 << 20, end_bytes: 0, allocations: 2}));"
        " Object.assign(m.facts, {iterations: m.iterations,"
        " iterations_found: {count: m.iterations.length,"
        " growth_bytes: 0}}); fillTables(m.facts, " + VIEW + "); })()"
    )
    words = browser.run(
        "document.getElementById('iterations').closest('section').querySelector('p').textContent"
    )
    assert ("stretched to one width" in words) == (count > 1)
    assert ("half of them" in words) == (count > 8)
    assert bool(browser.run("!!document.getElementById('iteration-peaks')")) == (count > 2)
    browser.run("document.getElementById('iterations').scrollIntoView()")
    browser.run(f"drawIterations(document.getElementById('iterations'), {VIEW}.model)")
    drawn = browser.run(
        "(() => { const c = document.getElementById('iterations'); const d = c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data; let n = 0;"
        " for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n / (d.length / 4); })()"
    )
    assert 0.005 < drawn < 0.9
    assert (
        browser.run(f"Math.max(...iterationCurve({VIEW}.model, {VIEW}.model.iterations[0]))")
        == 5 * MIB
    )
    assert browser.errors == []


WIDTHS = """[...document.querySelectorAll('td, th')].filter((e) => e.offsetParent).map((e) => {
  const pen = document.createElement('canvas').getContext('2d');
  return [e.textContent, e.clientWidth, ...[...e.querySelectorAll('*'), e].map((one) => {
    const style = getComputedStyle(one);
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    return Math.max(0, ...[...one.childNodes].filter((n) => n.nodeType === 3)
        .flatMap((n) => n.textContent.split(/[\\s/-]+/))
        .map((word) => pen.measureText(word).width));
  })];
})"""


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_cell_is_narrower_than_its_words_and_no_page_than_its_window(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    size = {"height": 900, "deviceScaleFactor": 1, "mobile": False}
    rows = [
        ("00:00:00:000001", "allocate", 0x1000, MIB),
        ("00:00:00:000002", "allocate failure", 0, 9 * MIB),
    ]
    browser.call("Emulation.setDeviceMetricsOverride", width=width, **size)
    try:
        for source in (corpus_file(TRAINING), log(tmp_path / "failure.csv", rows)):
            show(browser, tmp_path, source)
            assert browser.run("document.documentElement.scrollWidth") <= width
            cells = browser.run(WIDTHS)
            assert cells
            for text, across, *words in cells:
                assert max(words) <= across + 1, text
    finally:
        browser.call("Emulation.setDeviceMetricsOverride", width=1280, **size)


def test_the_details_reach_the_reader_at_each_width(narrow: Browser, tmp_path: Path) -> None:
    show(narrow, tmp_path, program(tmp_path))
    narrow.run(f"{VIEW}.keep({VIEW}.model.blocks.life(1))")
    box = narrow.run(
        "(() => { const b = document.getElementById('side').getBoundingClientRect();"
        " return [b.left, b.right, b.bottom]; })()"
    )
    assert box[0] >= 0
    assert box[1] <= 390
    assert box[2] <= 844
    assert narrow.run("document.documentElement.scrollWidth") <= 390


def test_the_keyboard_alone_opens_all_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, program(tmp_path))
    for number, kind in enumerate(KINDS, 1):
        if browser.run(f"Grouping.isKnown({VIEW}.model, '{kind}')"):
            browser.key(str(number))
            assert browser.run(f"{VIEW}.grouping.kind") == kind
    focus = "document.activeElement.id"
    browser.run("document.getElementById('timeline').focus()")
    browser.key("Enter")
    assert browser.run(focus) == "details-close"
    browser.key("Escape")
    assert browser.run(focus) == "timeline"
    browser.run("document.getElementById('map').focus()")
    browser.key("ArrowDown")
    first = browser.run(f"{VIEW}.kept.address")
    browser.key("ArrowDown")
    assert browser.run(f"{VIEW}.kept.address") > first
    browser.run("document.querySelector('#tables tr.link').focus()")
    browser.key("Enter")
    assert browser.run(focus) in ("details-close", "")
    # The keyboard reaches every element that a pointer can press.
    unreachable = browser.run(
        "[...document.querySelectorAll("
        "'button, a, select, input, canvas[tabindex], tr.link, summary')]"
        ".filter((e) => e.tabIndex < 0).length"
    )
    assert unreachable == 0


AXE = """axe.run(document).then((result) => JSON.stringify(result.violations.map((one) =>
  [one.id, one.nodes.map((node) => node.target.join(' '))])))"""


def axe_errors(browser: Browser) -> list[Any]:
    answer = browser.call("Runtime.evaluate", expression=AXE, awaitPromise=True, returnByValue=True)
    return json.loads(answer["result"]["value"])


@pytest.mark.skipif(
    importlib.util.find_spec("axe_core_python") is None,
    reason="no axe-core here: setup/requirements-quick.txt names it",
)
def test_axe_finds_no_error(browser: Browser, tmp_path: Path) -> None:
    found = importlib.util.find_spec("axe_core_python")
    assert found is not None
    assert found.origin is not None
    script = (Path(found.origin).parent / "axe.min.js").read_text()
    show(browser, tmp_path, corpus_file("lm-small-forward-bf16.pickle"), program(tmp_path))
    browser.run(script)
    size = {"height": 900, "deviceScaleFactor": 1, "mobile": False}
    try:
        for width in (1280, 390):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, **size)
            for theme in ("light", "dark"):
                browser.run(f"{VIEW}.setTheme('{theme}')")
                browser.run(f"{VIEW}.details.close()")
                assert axe_errors(browser) == [], (width, theme)
                browser.run(
                    f"{VIEW}.keep({VIEW}.model.blocks.life({VIEW}.model.aliveAt({VIEW}.event)[0]))"
                )
                assert axe_errors(browser) == [], (width, theme, "with details")
        # A picture without an alternative text is an error. This shows that the check finds errors.
        browser.run("document.querySelector('main').append(document.createElement('img'))")
        assert axe_errors(browser)
    finally:
        browser.call("Emulation.setDeviceMetricsOverride", width=1280, **size)


def test_a_page_of_as_many_blocks_as_there_can_be_opens_within_two_seconds(
    browser: Browser, tmp_path: Path
) -> None:
    count = 400_000
    rows = [
        (
            f"00:00:{i // 10000:02}:{i % 10000 * 100:06}",
            "allocate",
            0x10000 * (i + 1),
            512 + i % 4096,
        )
        for i in range(count)
    ]
    page = make_page(tmp_path, log(tmp_path / "many.csv", rows))
    browser.errors.clear()
    browser.call("Performance.enable")

    def processor_time() -> float:
        told = browser.call("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in told if one["name"] == "ProcessTime")

    # The limit is for processor time, because wall time includes other processes on a busy machine.
    # They use the caches, too, so one of the attempts suffices.
    for _ in range(5):
        before = processor_time()
        browser.open(page)
        spent = processor_time() - before
        if spent < 2:
            break
    assert browser.run(f"{VIEW}.model.blocks.length") == 150_000
    assert spent < 2
    assert browser.errors == []


def test_the_page_itself_is_small(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, own_trace(tmp_path))
    own = browser.run(
        "[...document.querySelectorAll('script:not([type]), style')]"
        ".reduce((s, e) => s + e.textContent.length, 0)"
    )
    assert 20_000 < own < 3_000_000
