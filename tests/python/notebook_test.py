"""Tests %load_ext vramstow in a kernel of IPython, and in a notebook that Jupyter executes.

The kernels are started as usual, on a simulated GPU, and observed from within.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, run_program

sys.path.insert(0, str(ROOT / "python"))

from vramstow import notebook, notebook_page

_spec = importlib.util.spec_from_file_location("attach_conftest", ROOT / "tests/attach/conftest.py")
assert _spec is not None and _spec.loader is not None
_attach = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_attach)

# Runs the cells, which are stored in files, one after the other.
RUN = """
import pathlib, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
for path in sorted(pathlib.Path(".").glob("cell-*.py")):
    print("####", path.stem, flush=True)
    result = shell.run_cell(path.read_text(), store_history=True)
    if not result.success:
        kind = type(result.error_before_exec or result.error_in_exec)
        print("#### raised", kind.__name__, flush=True)
    del result
"""
OUT_OF_MEMORY = "many = []\nwhile True: many.append(torch.ones(1 << 28, device='cuda'))"
FAILING_STEP = (
    "def step():\n    inner = torch.ones(1 << 21, device='cuda')\n    raise ValueError(1)\nstep()"
)


def test_names_that_a_cell_binds() -> None:
    cell = "a = 1\nb, (c, *d) = x\nfor e in y: f = 2\ndef g():\n    h = 3\nclass I: pass\nj += 1"
    assert notebook.names_made(cell) == {"a", "b", "c", "d", "e", "f", "g", "I", "j"}
    assert notebook.names_made("[k for k in z]; m = lambda n: n") == {"m"}
    assert notebook.names_made("%matplotlib inline") == set()


@pytest.mark.parametrize(
    ("holder", "name"),
    [
        ("global Out[5]", "Out[5]"),
        ("global _5.grad_fn → saved by MulBackward0", "Out[5]"),
        ('InteractiveShell.user_ns_hidden["_12"]', "Out[12]"),
        ("global _", "_"),
        ("global __", "__"),
        ("sys.last_value.__traceback__: frame step, variable y", "the last error"),
        ("global sys.last_exc", "the last error"),
        ("global get_ipython.InteractiveTB.tb: frame f, variable y", "the last error"),
        ("InteractiveShell.InteractiveTB.tb: frame f, variable y", "the last error"),
        ("exception being handled in f: frame g, variable y", "the last error"),
        ("InteractiveShell.last_execution_result.result", "the last result"),
        ("global get_ipython.last_execution_result.error_in_exec: frame f", "the last error"),
        ("global last_values", None),
        ("global last_exception_logits", None),
        ("step: last_value", None),
        ("global agent.last_value", None),
        ("global model.0.weight", None),
        ("global _cache[3]", None),
        ("global Output[3]", None),
        ("global out", None),
    ],
)
def test_what_only_the_history_holds_has_the_name_of_the_notebook(
    holder: str, name: str | None
) -> None:
    assert notebook.history_name(holder) == name


def test_what_a_name_of_a_cell_references_is_not_history() -> None:
    cells = notebook.Cells()
    cells.note(3, {"_", "debug"})
    assert cells.told("global _[0]") == "_[0] of cell 3"
    assert cells.told("global debug.InteractiveTB.tb") == "debug.InteractiveTB.tb of cell 3"
    assert cells.told('InteractiveShell.user_ns_hidden["_"]') == "_"


def test_a_name_is_told_with_the_last_cell_that_bound_it() -> None:
    cells = notebook.Cells()
    cells.note(2, {"model"})
    cells.note_file(2, "/tmp/ipykernel_7/123.py")
    assert cells.told("global model.0.weight") == "model.0.weight of cell 2"
    cells.note(4, {"model"})
    assert cells.told("global model.0.weight") == "model.0.weight of cell 4"
    assert cells.told("step: x") == "step: x"
    assert cells.with_cells("At  123.py:5 <module>") == "At  cell 2:5 <module>"
    assert cells.with_cells("<ipython-input-9-ab12…>:1") == "cell 9:1"
    cells.note_file(8, "<ipython-input-9-ab12cd34ef56>")
    assert cells.with_cells("<ipython-input-9-ab12…>:1") == "cell 8:1"
    assert cells.with_cells("<ipython-input-9-ff12…>:1") == "cell 9:1"


def kernel_environment(folder: Path) -> dict[str, str]:
    chosen = os.environ.get("VRAMSTOW_ADAPTER_DIR")
    compiled = {} if chosen is None else {"VRAMSTOW_ADAPTER_DIR": chosen}
    return (
        _attach.plain_environment("h100,memory=8GiB")
        | compiled
        | {
            "PYTHONPATH": str(ROOT / "python"),
            "VRAMSTOW_PROGRAM": str(VRAMSTOW),
            "HOME": os.environ.get("HOME", "/root"),
            "IPYTHONDIR": str(folder / "ipython"),
        }
    )


def test_a_timeline_shows_the_peak_between_two_looks() -> None:
    levels = [(0.0, 10), (0.5, 40), (1.0, 20)]
    timeline = notebook_page.Timeline(tuple(notebook_page.Level(*level) for level in levels))
    assert str(timeline).startswith("10 B ") and "40 B at the peak, 1.0 s" in str(timeline)
    bars = str(timeline).split()[2]
    assert bars[0] == "█" and bars[-1] == "▃", "a level holds for the interval that it ends"
    svg = timeline.svg()
    assert "currentColor" in svg and "40 B" in svg and "1.0 s" in svg
    assert not re.search(r"(?:fill|stroke)='(?:black|white|#000|#fff)", svg)


def test_a_page_writes_what_a_holder_is_called_as_text() -> None:
    row = notebook_page.Row(1 << 20, 1, "<module>: x & y")
    page = notebook_page.Page("1.00 MiB", (("held by", (row,)),))
    assert "&lt;module&gt;: x &amp; y" in page._repr_html_() and "1 block<" in page._repr_html_()
    assert "1 block  <module>: x & y" in repr(page)


def test_the_traceback_of_a_cell_has_its_number() -> None:
    cells = notebook.Cells()
    holder = "sys.last_value.__traceback__: frame step, variable y"
    assert cells.told(holder) == "the last error"
    cells.failed = 7
    assert cells.told(holder) == "the traceback of cell 7: frame step, variable y"
    assert cells.told("exception being handled") == "the traceback of cell 7"


def run_cells(folder: Path, cells: list[str]) -> dict[int, str]:
    """Runs the cells in IPython, and returns the output of each cell."""
    has_ipython = subprocess.run([_attach.PYTHON, "-c", "import IPython"], check=False)
    if has_ipython.returncode != 0:
        pytest.skip("IPython is not installed (setup/requirements-notebook.txt)")
    for number, text in enumerate(cells, 1):
        (folder / f"cell-{number:02}.py").write_text(text)
    environment = kernel_environment(folder)
    done = run_program(_attach.PYTHON, "-c", RUN, cwd=folder, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    parts = done.stdout.split("#### cell-")[1:]
    return {int(part[:2]): part[2:] for part in parts}


@pytest.fixture
def outputs(tmp_path: Path) -> dict[int, str]:
    """Returns the output of each cell."""
    cells = [
        "%load_ext vramstow",
        "import torch\nmodel = torch.nn.Linear(1024, 1024).cuda()",
        "torch.ones(1 << 20, device='cuda')",
        "%%vramstow\nkept = [torch.ones(1 << 20, device='cuda') for _ in range(4)]",
        "%vramstow held",
        "%vramstow free",
        "%vramstow free now",
        "%vramstow held",
        OUT_OF_MEMORY,
        "%vramstow",
        "%unload_ext vramstow",
        "%vramstow held",
        "%%vramstow\nnever_run = 1",
    ]
    return run_cells(tmp_path, cells)


def test_what_names_of_cells_hold_stays_when_history_is_forgotten(tmp_path: Path) -> None:
    cells = [
        "%load_ext vramstow",
        "import torch\nlast_values = torch.ones(1 << 20, device='cuda')",
        "%vramstow free",
        "_ = torch.ones(1 << 19, device='cuda')",
        "%vramstow free now",
        "%vramstow held",
    ]
    outputs = run_cells(tmp_path, cells)
    assert "The notebook's history references no GPU memory" in outputs[3], outputs
    assert "The notebook's history references no GPU memory" in outputs[5], outputs
    assert "last_values of cell 2" in outputs[6] and "_ of cell 4" in outputs[6], outputs


def test_what_a_name_and_the_history_hold_is_of_the_name(tmp_path: Path) -> None:
    cells = [
        "%load_ext vramstow",
        "import torch\nx = torch.ones(1 << 20, device='cuda'); x",
        "base = torch.ones(1 << 19, device='cuda'); base",
        "deep = {'a': [{'b': base.view(-1)}]}; del base",
        "model = torch.nn.Linear(1024, 1024, bias=False).cuda(); model",
        "torch.nn.Linear(1024, 512, bias=False).cuda()",
        "def step():\n    inner = torch.ones(1 << 18, device='cuda')\n    raise ValueError(1)\n"
        "try:\n    step()\nexcept ValueError as error:\n    saved = error\n    raise",
        "%vramstow free",
        "%vramstow held",
        "x = None",
        "%vramstow free now",
    ]
    outputs = run_cells(tmp_path, cells)
    free, held = outputs[8], outputs[9]
    assert "2.00 MiB only because of history" in free and free.count("block") == 1, outputs
    assert "Out[6]" in free and "in no optimizer" in free, outputs
    names = ("x of cell 2", "deep", "model.weight of cell 5", "Out[6]", "saved: frame step")
    assert not [name for name in names if name not in held], held
    assert "Out[2]" in outputs[11] and "6.00 MiB are free again" in outputs[11], outputs


def test_free_now_collects_and_empties_the_cache_without_history(tmp_path: Path) -> None:
    cells = [
        "%load_ext vramstow",
        "import gc, torch\ngc.disable()\nring = [torch.ones(1 << 20, device='cuda')]\n"
        "ring.append(ring)\ndel ring\ncached = torch.ones(1 << 23, device='cuda')\ndel cached\n7",
        "%vramstow free now",
        "print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), Out)",
    ]
    outputs = run_cells(tmp_path, cells)
    told = outputs[3]
    assert "history references no GPU memory; 4.00 MiB are free again" in told, outputs
    assert "PyTorch returned 52.00 MiB to the GPU" in told, outputs
    assert outputs[4].strip().startswith("0 0 {2: 7"), "no result is forgotten for nothing"


def test_cells_names_and_history_are_told_and_history_alone_is_forgotten(
    outputs: dict[int, str],
) -> None:
    assert outputs[1].strip() == ""
    told = outputs[4]
    assert "16.00 MiB more than before, 16.00 MiB more at its peak, 4 allocations" in told
    assert "kept[0..3] of cell 4" in told and "model" not in told
    assert "kept[0..3] of cell 4" in outputs[5]
    assert "model.weight of cell 2" in outputs[5]
    assert "4.00 MiB only because of history" in outputs[6]
    assert "4.00 MiB are free again" in outputs[7]
    # Objects to which a variable of the user's refers are still referenced.
    assert "kept[0..3] of cell 4" in outputs[8] and "model.weight of cell 2" in outputs[8]
    assert "Out[" not in outputs[8].partition("held by")[2]


def test_after_an_out_of_memory_the_story_follows_the_traceback(outputs: dict[int, str]) -> None:
    told = outputs[9]
    assert told.index("OutOfMemoryError") < told.index("Because")
    assert "Held by  global many[0.." in told
    assert "At       cell 9:2" in told
    assert "vramstow held" in outputs[10]


def test_after_it_is_unloaded_it_says_so(outputs: dict[int, str]) -> None:
    for number in (12, 13):
        assert outputs[number].strip() == (
            "vramstow: the extension is not loaded any more; %load_ext vramstow loads it."
        )


def test_the_result_and_the_error_of_the_cell_before_are_forgotten(tmp_path: Path) -> None:
    allocated = "print(torch.cuda.memory_allocated())"
    cells = [
        "%load_ext vramstow",
        "import torch",
        "torch.ones(1 << 20, device='cuda')",
        "%vramstow free now",
        allocated,
        FAILING_STEP,
        "%vramstow free now",
        allocated,
    ]
    outputs = run_cells(tmp_path, cells)
    assert "4.00 MiB are free again" in outputs[4], outputs
    assert outputs[5].strip() == "0"
    assert "8.00 MiB are free again" in outputs[7] and "the traceback of cell 6" in outputs[7]
    assert outputs[8].strip() == "0"


def test_a_name_is_of_the_cell_that_bound_it_with_magics_and_after_errors(tmp_path: Path) -> None:
    cells = [
        "%load_ext vramstow",
        "import torch\n\ndef ones(n):\n    return torch.ones(n << 20, device='cuda')",
        "a = ones(1)\nb = ones(1)\nc = ones(1)",
        "%time y = 3\na = ones(2)",
        "%%time\nb = ones(2)",
        "d = ones(1)\nc += 1\nraise ValueError\nc = ones(2)",
        "for _ in range(2): pass",
        "%%vramstow\ne = ones(3)\nraise ValueError\nf = 1",
        "del _; ones(4)",
        "%vramstow held",
    ]
    outputs = run_cells(tmp_path, cells)
    held = outputs[10]
    for told in ("a of cell 4", "b of cell 5", "c of cell 3", "d of cell 6", "e of cell 8"):
        assert told in held, outputs
    assert "Out[9]" in held and "_ of cell" not in held, outputs
    assert "e of cell 8" in outputs[8] and "d of" not in outputs[8], outputs


def test_a_weak_reference_to_what_is_gone_is_no_error_of_each_cell(tmp_path: Path) -> None:
    cells = [
        "%load_ext vramstow",
        "import torch, weakref",
        "class Model: pass\nmodel = Model()\nproxy = weakref.proxy(model)\ndel model",
        "a = torch.ones(1 << 20, device='cuda')",
        "%vramstow held",
    ]
    outputs = run_cells(tmp_path, cells)
    assert "ReferenceError" not in str(outputs), outputs
    assert "a of cell 4" in outputs[5], outputs


def test_the_story_names_the_cell_whose_magic_ran_the_failing_lines(tmp_path: Path) -> None:
    cells = [
        "%load_ext vramstow",
        "import torch",
        "%%vramstow\n" + OUT_OF_MEMORY,
        "del many",
        "%%capture --no-stdout\n" + OUT_OF_MEMORY,
    ]
    outputs = run_cells(tmp_path, cells)
    assert "At       cell 3:2" in outputs[3], outputs[3]
    assert outputs[3].count("Because") == 1 and outputs[3].count("CUDA out of memory") == 1
    assert "#### raised OutOfMemoryError" in outputs[3], outputs[3]
    assert "At       cell 5:2" in outputs[5], outputs[5]


def test_the_error_of_a_cell_is_shown_once_and_raised_after_the_page(tmp_path: Path) -> None:
    caught = (
        "try:\n"
        "    get_ipython().run_cell_magic('vramstow', '', 'raise ValueError(6)')\n"
        "except ValueError as error:\n"
        "    print('caught', error.args)\n"
    )
    cells = [
        "%load_ext vramstow",
        "import torch",
        "%%vramstow\nkept = torch.ones(1 << 20, device='cuda')\nraise ValueError('of cell')",
        "%%vramstow\nraise KeyboardInterrupt",
        "%%vramstow\nif 1 raise",
        caught,
        caught + "raise ValueError('again')",
        "raise ValueError('plain')",
    ]
    outputs = run_cells(tmp_path, cells)
    told = outputs[3]
    assert told.index("ValueError: of cell") < told.index("cell 3: 4.00 MiB more than before")
    assert told.index("kept of cell 3") < told.index("#### raised ValueError")
    names = {3: "ValueError", 4: "KeyboardInterrupt", 5: "SyntaxError"}
    for number, name in names.items():
        told = outputs[number]
        assert f"#### raised {name}" in told and f"cell {number}: " in told, told
        assert "run_cell" not in told and "notebook.py" not in told, told
    assert outputs[3].count("ValueError: of cell") == outputs[5].count("SyntaxError: ") == 1
    assert len(re.findall("^KeyboardInterrupt", outputs[4], re.MULTILINE)) == 2, outputs[4]
    assert "caught (6,)" in outputs[6] and "raised" not in outputs[6], outputs[6]
    assert outputs[7].count("ValueError: again") == 1, outputs[7]
    assert outputs[8].count("ValueError: plain") == 1, outputs[8]


def run_cells_under_vramstow_run(folder: Path, cells: list[str]) -> str:
    """Runs the cells in a program that vramstow run starts, and returns what it prints."""
    pytest.importorskip("IPython", reason="needs setup/requirements-notebook.txt")
    for number, cell in enumerate(cells, 1):
        (folder / f"cell-{number:02}.py").write_text(cell)
    flags = ["run", "--quiet", "--simulate=h100", f"--trace-dir={folder}", "--"]
    environment = kernel_environment(folder)
    plain = {name: text for name, text in os.environ.items() if not name.startswith("VRAMSTOW")}
    for name in ("PYTHONPATH", "IPYTHONDIR", "VRAMSTOW_PROGRAM", "VRAMSTOW_ADAPTER_DIR"):
        plain |= {name: environment[name]} if name in environment else {}
    done = run_program(
        VRAMSTOW, *flags, sys.executable, "-c", RUN, cwd=folder, env=plain, timeout=300
    )
    return done.stdout


def test_the_first_cell_under_vramstow_run_has_numbers(tmp_path: Path) -> None:
    text = "import torch\nkept = torch.ones(1 << 20, device='cuda')"
    told = run_cells_under_vramstow_run(tmp_path, ["%load_ext vramstow", "%%vramstow\n" + text])
    assert "4.00 MiB more than before, 4.00 MiB more at its peak, 1 allocation" in told


@pytest.mark.parametrize(
    ("cells", "uncaught"),
    [
        (["import sys\nsys.exit(1)"], None),
        (["raise ValueError(1)", "a = 1"], None),
        (["a = 1", "raise ValueError(1)"], "ValueError"),
    ],
)
def test_an_error_after_which_a_cell_ran_did_not_end_the_program(
    tmp_path: Path, cells: list[str], uncaught: str | None
) -> None:
    use = "import torch\nkept = torch.ones(1 << 20, device='cuda')"
    told = run_cells_under_vramstow_run(tmp_path, [use, *cells])
    assert "#### raised" in told, told
    (trace,) = tmp_path.glob("*.stow")
    facts = run_program(VRAMSTOW, "analyze", "--json", trace, timeout=60).stdout
    assert json.loads(facts)["facts"].get("program.uncaught") == uncaught


def test_without_pytorch_it_says_so_and_registers_nothing(tmp_path: Path) -> None:
    registered = "print([f.__module__ for f in get_ipython().events.callbacks['post_run_cell']])"
    without = "import sys\nsys.modules['torch'] = None"
    told = run_cells_under_vramstow_run(tmp_path, [without, "%load_ext vramstow", registered])
    assert told.partition("#### cell-02")[2].split("####")[0].strip() == (
        "vramstow: this Python has no PyTorch."
    )
    assert "vramstow.notebook" not in told.partition("#### cell-03")[2]


def test_a_pytorch_that_cannot_be_loaded_is_not_called_missing(tmp_path: Path) -> None:
    package = tmp_path / "broken/torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('libcudnn.so.9: no such file')\n")
    path = f"import sys\nsys.path.insert(0, {str(package.parent)!r})\nsys.modules.pop('torch', 0)"
    told = run_cells_under_vramstow_run(tmp_path, [path, "%load_ext vramstow"])
    assert "vramstow: PyTorch cannot be imported: libcudnn.so.9: no such file." in told


def test_an_observation_that_cannot_begin_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def observe(_folder: str) -> None:
        raise notebook.ObserveError("there is no GPU.")

    monkeypatch.setattr(notebook.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(notebook.library, "is_preloaded", lambda: False)
    monkeypatch.setattr(notebook, "_out_of_memory", lambda: MemoryError)
    monkeypatch.setattr(notebook, "observe", observe)
    with pytest.raises(notebook.ObserveError):
        notebook.Notebook().begin()
    assert list(tmp_path.iterdir()) == []


NOTEBOOK = [
    "%load_ext vramstow",
    "import torch",
    "model = torch.nn.Linear(1024, 1024).cuda()",
    "batch = torch.ones(256, 1024, device='cuda')",
    "model(batch)",
    "%%vramstow\n"
    "import time\n"
    "kept = []\n"
    "for i in range(8):\n"
    "    kept.append(torch.ones(1 << 20, device='cuda'))\n"
    "    high = torch.ones(1 << 22, device='cuda')\n"
    "    time.sleep(0.05)\n"
    "    del high\n"
    "    time.sleep(0.05)",
    FAILING_STEP,
    "%vramstow held",
    "%vramstow free",
    OUT_OF_MEMORY,
    "%vramstow",
]


def execute(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sources: list[str], error: str | None = None
) -> tuple[list[str], object]:
    """Returns each cell's output as text, and the executed notebook. With an `error`, the notebook
    must stop at a cell that fails with it.
    """
    nbclient = pytest.importorskip("nbclient", reason="needs setup/requirements-notebook.txt")
    nbformat = pytest.importorskip("nbformat", reason="needs setup/requirements-notebook.txt")
    spec = folder / "kernels/plain/kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(
        json.dumps(
            {
                "argv": [_attach.PYTHON, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": "plain",
                "language": "python",
                "env": kernel_environment(folder) | {"NO_COLOR": "1"},
            }
        )
    )
    others = os.environ.get("JUPYTER_PATH", "")
    monkeypatch.setenv("JUPYTER_PATH", f"{folder}{os.pathsep}{others}")
    cells = [nbformat.v4.new_code_cell(text) for text in sources]
    book = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(folder)}}
    client = nbclient.NotebookClient(
        book, timeout=300, kernel_name="plain", allow_errors=error is None, resources=resources
    )
    if error is None:
        client.execute()
    else:
        with pytest.raises(nbclient.exceptions.CellExecutionError, match=error):
            client.execute()
    texts = []
    for cell in book.cells:
        parts = []
        for out in cell.outputs:
            parts.append(out.get("text", "") + "\n".join(out.get("traceback", [])))
            parts.append(out.get("data", {}).get("text/plain", ""))
        texts.append("\n".join(parts))
    return texts, book


def test_jupyter_executes_a_notebook_and_its_page_names_cells_and_shows_the_timeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbconvert = pytest.importorskip("nbconvert", reason="needs setup/requirements-notebook.txt")
    texts, book = execute(tmp_path, monkeypatch, NOTEBOOK)
    cell, held, free, failed = texts[5], texts[7], texts[8], texts[9]
    assert "cell 6: 32.00 MiB more than before, 48.00 MiB more at its peak" in cell, texts
    assert "at the peak" in cell and "kept[0..7] of cell 6" in cell
    assert "model.weight of cell 3" in held and "batch of cell 4" in held, held
    assert "Out[5]" in held and "the traceback of cell 7: frame step, variable inner" in held, held
    assert "Out[5]" in free and "the traceback of cell 7" in free
    assert failed.index("OutOfMemoryError") < failed.index("Because"), failed
    assert "At       cell 10:2" in failed
    keep = Path(os.environ.get("VRAMSTOW_TEST_PAGES", tmp_path))
    for theme in ("light", "dark"):
        page, _ = nbconvert.HTMLExporter(theme=theme).from_notebook_node(book)
        (keep / f"notebook-{theme}.html").write_text(page)
        assert "<svg" in page and "memory within the cell" in page
        assert "kept[0..7] of cell 6" in page


def test_jupyter_names_cells_with_magics_in_the_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        "%load_ext vramstow\nimport torch\n!echo before\n" + OUT_OF_MEMORY,
        "del many",
        "%%vramstow\n" + OUT_OF_MEMORY,
    ]
    texts, _ = execute(tmp_path, monkeypatch, cells)
    assert "At       cell 1:5" in texts[0], texts[0]
    assert "At       cell 3:2" in texts[2], texts[2]


def test_jupyter_stops_at_a_cell_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        "%load_ext vramstow",
        "import torch",
        "%%vramstow\nkept = torch.ones(1 << 20, device='cuda')\nraise RuntimeError('of cell')",
        "print('not run')",
    ]
    texts, book = execute(tmp_path, monkeypatch, cells, r"RuntimeError\S*: of cell")
    kinds = [out.output_type for out in book.cells[2].outputs]
    assert kinds == ["error", "display_data"], texts
    assert "kept of cell 3" in texts[2] and texts[3] == "", texts


def test_jupyter_refuses_a_cell_with_await_and_shows_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    awaits = "import asyncio\nawait asyncio.sleep(0)\nprint('has run')"
    cells = [
        "%load_ext vramstow",
        "import torch, vramstow\nkept = torch.ones(1 << 20, device='cuda')",
        "%%vramstow\n" + awaits,
        "with vramstow.track('cell') as tracked:\n    " + awaits.replace("\n", "\n    "),
    ]
    texts, _ = execute(tmp_path, monkeypatch, cells)
    assert texts[2].strip().startswith("UsageError: %%vramstow cannot run a cell with await"), texts
    assert "more than before" not in texts[2] and "has run" not in texts[2], texts
    assert texts[3].strip() == "has run", texts
