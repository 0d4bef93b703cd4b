"""A training step under torch.profiler with CUDA activity, exported twice. Prints "done"."""

import json
import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

folder = Path(sys.argv[1])
model = torch.nn.Linear(64, 64).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step() -> None:
    with record_function("one step"):
        model(torch.randn(8, 64).to("cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


def read(path: Path) -> list[dict]:
    return json.loads(path.read_text())["traceEvents"]


activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
with profile(activities=activities, profile_memory=True, record_shapes=True) as whole:
    step()
whole.export_chrome_trace(str(folder / "whole.json"))
assert any(event.get("name") == "one step" for event in read(folder / "whole.json"))
assert "aten::addmm" in whole.key_averages().table()


def export(profiler: profile) -> None:
    profiler.export_chrome_trace(str(folder / "scheduled.json"))


steps = schedule(wait=1, warmup=1, active=2, repeat=1)
with profile(activities=activities, schedule=steps, on_trace_ready=export) as scheduled:
    for _ in range(5):
        step()
        scheduled.step()
found = [e for e in read(folder / "scheduled.json") if e.get("name") == "one step"]
on_host = [event for event in found if event.get("cat") == "user_annotation"]
assert len(on_host) == 2, found
print("done")
