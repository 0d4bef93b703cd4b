"""The scripts of bench/ explain themselves, and counts.py needs only Python and universal-ctags."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tree


@pytest.mark.skipif(shutil.which("ctags") is None, reason="needs universal-ctags")
def test_the_counts_need_no_package() -> None:
    # -I ignores packages that the user has installed, -S ignores all packages.
    script = f"import sys; sys.path.insert(0, {str(tree.ROOT / 'bench')!r}); import counts"
    script += "; sys.argv = ['counts.py']; counts.main()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        cwd=tree.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "simulator" in done.stdout


def imports_torch(script: Path) -> bool:
    """Returns whether a script imports PyTorch when it starts, which takes seconds."""
    statements = map(ast.unparse, ast.parse(script.read_text()).body)
    return any(one.startswith(("import torch", "from torch")) for one in statements)


SCRIPTS = [
    script
    for script in sorted((tree.ROOT / "bench").glob("*.py"))
    if "__main__" in script.read_text() and not imports_torch(script)
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_each_script_explains_itself(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, script, "--help"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith(f"usage: {script.name}")
