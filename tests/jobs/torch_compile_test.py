"""torch.compile with Triton in the simulator: kernels and graphs are launched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_compiled_model_trains(
    rehearse: Callable[..., Rehearsal], python: str, tmp_path: Path, mode: str
) -> None:
    caches = {  # empty ones, so that Triton compiles and builds its launcher
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
        "TRITON_CACHE_DIR": str(tmp_path / "triton"),
    }
    job = rehearse(python, PROGRAMS / "compiled.py", "--mode", mode, env=caches, timeout=580)
    job.assert_well(steps=4)
    assert list((tmp_path / "triton").rglob("*.cubin")), "Triton compiled nothing"
    assert f"graphs: {mode == 'reduce-overhead'}" in job.out
