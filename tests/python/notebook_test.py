"""%load_ext vramstow: in a kernel of IPython that was started plainly."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from vramstow import notebook  # noqa: E402

_spec = importlib.util.spec_from_file_location("attach_conftest", ROOT / "tests/attach/conftest.py")
assert _spec is not None and _spec.loader is not None
_attach = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_attach)

# Runs the cells, which lie in files, one after the other.
RUN = """
import pathlib, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
for path in sorted(pathlib.Path(".").glob("cell-*.py")):
    print("####", path.stem, flush=True)
    shell.run_cell(path.read_text(), store_history=True)
"""


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


def test_a_name_is_told_with_the_last_cell_that_bound_it() -> None:
    cells = notebook.Cells()
    cells.note(2, "model = make()", "/tmp/ipykernel_7/123.py")
    assert cells.told("global model.0.weight") == "model.0.weight of cell 2"
    cells.note(4, "model = make()")
    assert cells.told("global model.0.weight") == "model.0.weight of cell 4"
    assert cells.told("step: x") == "step: x"
    assert cells.with_cells("At  123.py:5 <module>") == "At  cell 2:5 <module>"
    assert cells.with_cells("<ipython-input-9-ab12…>:1") == "cell 9:1"


@pytest.fixture
def outputs(tmp_path: Path) -> dict[int, str]:
    """What each cell printed."""
    pytest.importorskip("IPython", reason="IPython is not installed (setup/requirements-notebook)")
    cells = [
        "%load_ext vramstow",
        "import torch\nmodel = torch.nn.Linear(1024, 1024).cuda()",
        "torch.ones(1 << 20, device='cuda')",
        "%%vramstow\nkept = [torch.ones(1 << 20, device='cuda') for _ in range(4)]",
        "%vramstow held",
        "%vramstow free",
        "%vramstow free now",
        "%vramstow held",
        "many = []\nwhile True: many.append(torch.ones(1 << 28, device='cuda'))",
        "%vramstow",
        "%unload_ext vramstow",
    ]
    for number, text in enumerate(cells, 1):
        (tmp_path / f"cell-{number:02}.py").write_text(text)
    environment = _attach.plain_environment("h100,memory=8GiB") | {
        "PYTHONPATH": str(ROOT / "python"),
        "VRAMSTOW_PROGRAM": str(_attach.VRAMSTOW),
        "HOME": os.environ.get("HOME", "/root"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = done.stdout.split("#### cell-")[1:]
    return {int(part[:2]): part[2:] for part in parts}


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
    # What the user named stays.
    assert "kept[0..3] of cell 4" in outputs[8] and "model.weight of cell 2" in outputs[8]
    assert "Out[" not in outputs[8].partition("held by")[2]


def test_after_an_out_of_memory_the_story_follows_the_traceback(outputs: dict[int, str]) -> None:
    told = outputs[9]
    assert told.index("OutOfMemoryError") < told.index("Because")
    assert "Held by  global many[0.." in told
    assert "At       cell 9:2" in told
    assert "vramstow held" in outputs[10]
