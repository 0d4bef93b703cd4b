"""Checks the times of iterations by a simulated GPU's virtual clock, and of a job with offload."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from built import ROOT, VRAMSTOW, run_program, run_vramstow

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

LAYERS, WIDTH, BATCH = 12, 2048, 4096
TRAIN = f"""
import torch
model = torch.nn.Sequential(*[torch.nn.Linear({WIDTH}, {WIDTH}) for _ in range({LAYERS})]).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(7):
    x = torch.randn({BATCH}, {WIDTH}).cuda()
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
"""
# PyTorch carries out some of these operators by copies within the GPU and by fills.
COPIES = """
import sys
import torch
model = torch.nn.Linear(2048, 2048).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(int(sys.argv[1]), 2048).cuda()
for step in range(7):
    y = model(x)
    for _ in range(8):
        y = y.clone()
        torch.zeros_like(y)
    optimizer.zero_grad()
    loss = y.square().mean()
    loss.backward()
    optimizer.step()
    loss.item()
"""
# In each iteration the program works for about a millisecond, and the GPU works for 37 ms.
AHEAD = """
import sys
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(2048, 4096).cuda()
for step in range(9):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    if sys.argv[1] == "waits":
        torch.cuda.synchronize()
"""
# The rate of an H100 by its data sheet: no step is faster than its products at this rate.
FLOAT32_RATE = 66.9e12


def rehearsed(folder: Path, card: str, *flags: str) -> tuple[Path, str]:
    """Returns the trace of the job on that GPU, and the output of the run."""
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(TRAIN)
    run = [VRAMSTOW, "run", f"--simulate={card}", *flags, "--", sys.executable, "train.py"]
    done = run_program(*run, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr
    (trace,) = folder.glob("*.stow")
    return trace, done.stderr


def told(*arguments: str | Path) -> str:
    return run_vramstow(*arguments, check=True, timeout=300).stdout


def facts(trace: Path) -> dict[str, Any]:
    return json.loads(told("analyze", "--json", trace))


def test_an_iteration_takes_what_its_products_take_and_is_told_everywhere(tmp_path: Path) -> None:
    trace, summary = rehearsed(tmp_path, "h100,clock=model")
    clock = facts(trace)["model_clock"]
    assert clock["iterations"] == 5
    least = 3 * LAYERS * 2 * BATCH * WIDTH * WIDTH / FLOAT32_RATE
    assert least <= clock["step_seconds"] <= 10 * least
    assert clock["wait_seconds"] == 0
    assert clock["link_read_bytes"] == 0
    assert clock["in_bytes"] == 4 * BATCH * WIDTH
    assert "An iteration takes" in summary
    assert "An iteration takes" in told("analyze", trace)
    assert "An iteration takes" in told("analyze", "--full", trace)
    told("report", trace, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert '"clock":{"time":[0,' in page
    assert "An iteration takes" in page
    for limit, status in ((clock["step_seconds"] * 2, 0), (clock["step_seconds"] / 2, 1)):
        condition = f"model_clock.step_seconds < {limit}"
        check = [VRAMSTOW, "check", trace, "--assert", condition]
        assert subprocess.run(check, check=False, capture_output=True).returncode == status


def test_a_job_that_lives_by_offload_is_not_called_healthy(tmp_path: Path) -> None:
    roomy, _ = rehearsed(tmp_path / "roomy", "h100,clock=model", "--pool=on")
    flags = ("--pool=on", "--offload=auto")
    tight, summary = rehearsed(tmp_path / "tight", "h100,memory=1400MiB,clock=model", *flags)
    had = facts(roomy)
    has = facts(tight)
    assert has["offload"]["carries_job"] is True
    assert has["offload"]["card_bytes"] == 1400 << 20
    assert has["offload"]["needed_bytes"] > 1400 << 20
    assert has["offload"]["most_bytes"] > 0
    assert had["offload"]["step_cost_seconds"] is None
    moves = has["model_clock"]["link_read_bytes"] + has["model_clock"]["out_bytes"]
    assert moves > had["model_clock"]["link_read_bytes"] + had["model_clock"]["out_bytes"]
    assert has["model_clock"]["step_seconds"] > had["model_clock"]["step_seconds"]
    first = "This job needs 1.4"
    assert first in summary
    assert "It went on because" in summary
    screen = told("analyze", tight)
    assert first in screen
    assert "train.py:" in screen.split("Moved")[1].split("Peak")[0]
    assert "Healthy" not in screen
    # The reported cost of moves is the time that they add to an iteration. One of the suggested
    # changes avoids all moves.
    longer = has["model_clock"]["step_seconds"] - had["model_clock"]["step_seconds"]
    # The reported cost is an upper bound, because this program waits for the GPU in each step even
    # without moves.
    cost = has["offload"]["step_cost_seconds"]
    assert 0.75 * longer <= cost < has["model_clock"]["step_seconds"]
    assert "Offload costs about" in screen
    assert "Offload costs about" in summary
    best = has["offload"]["by_hand"][0]
    assert best["fits"] is True
    assert best["needed_bytes"] < 1400 << 20
    assert 0 <= best["seconds"] < had["model_clock"]["step_seconds"]
    assert "which fits without offload" in summary
    assert had["offload"]["carries_job"] is False
    assert "Healthy" in told("analyze", roomy)


def test_a_step_takes_as_long_as_plan_says(tmp_path: Path) -> None:
    (tmp_path / "copies.py").write_text(COPIES)
    program = [sys.executable, str(tmp_path / "copies.py")]
    planned = json.loads(
        told("plan", "--json", "--cards=h100", "--batch=16384", "--", *program, "{batch}")
    )
    run = [VRAMSTOW, "run", "--simulate=h100,clock=model", f"--trace-dir={tmp_path}", "--"]
    subprocess.run([*run, *program, "16384"], check=True, capture_output=True, timeout=300)
    (trace,) = tmp_path.glob("*.stow")
    by_plan = planned["rows"][0]["step_seconds"]
    assert facts(trace)["model_clock"]["step_seconds"] == pytest.approx(by_plan, rel=0.05)


def test_a_loop_that_never_waits_takes_as_long_as_one_that_waits_each_time(tmp_path: Path) -> None:
    (tmp_path / "ahead.py").write_text(AHEAD)
    found = {}
    for how in ("waits", "never"):
        folder = tmp_path / how
        run = [VRAMSTOW, "run", "--simulate=h100,clock=model", f"--trace-dir={folder}", "--"]
        program = [sys.executable, str(tmp_path / "ahead.py"), how]
        subprocess.run([*run, *program], check=True, capture_output=True, timeout=300)
        (trace,) = folder.glob("*.stow")
        found[how] = facts(trace)["model_clock"]
    assert found["waits"]["step_seconds"] > 0.02, "the card is what takes time"
    assert found["never"]["step_seconds"] == pytest.approx(found["waits"]["step_seconds"], rel=0.02)
    assert found["never"]["iterations"] >= 5


def test_keeping_page_locked_memory_makes_a_resume_faster_as_published() -> None:
    job = [sys.executable, ROOT / "bench/model_clock_moves.py", "saver"]
    resume = []
    for how in ([], ["--offload"]):
        output = told(
            "run", "--quiet", "--no-trace", "--simulate=h100,clock=model", "--", *job, *how
        )
        resume.append(json.loads(output)["resume"])
    assert resume[0] / resume[1] == pytest.approx(4.846 / 0.623, rel=0.3)


def test_without_that_clock_nothing_is_told_of_it(tmp_path: Path) -> None:
    trace, summary = rehearsed(tmp_path, "h100")
    clock = facts(trace)["model_clock"]
    assert clock["iterations"] == 0
    assert clock["step_seconds"] is None
    assert "An iteration takes" not in summary + told("analyze", trace)


def test_work_takes_its_time_where_nothing_is_kept(tmp_path: Path) -> None:
    seconds = [
        facts(rehearsed(tmp_path / card, card)[0])["model_clock"]["step_seconds"]
        for card in ("h100,clock=model", "h100,clock=model,contents=discard")
    ]
    assert seconds[1] == pytest.approx(seconds[0], rel=0.02)
