"""bench/counts.py needs only Python and universal-ctags, and no package."""

from __future__ import annotations

import shutil
import subprocess
import sys

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
