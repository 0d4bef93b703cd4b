"""Training steps under torch.profiler with CUDA activity: checks the profile. Prints "done".

Kernels with their names, copies and fills with their bytes, each joined to its call and to the
operator that launched it; durations of the device's clock, which kernel-time=10us sets.
"""

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


def of(events: list[dict], category: str) -> list[dict]:
    return [event for event in events if event.get("cat") == category]


def joined(events: list[dict], piece: dict) -> dict:
    """Returns the only call that queued a piece of work."""
    correlation = piece["args"]["correlation"]
    calls = of(events, "cuda_runtime") + of(events, "cuda_driver")
    found = [call for call in calls if call["args"].get("correlation") == correlation]
    assert len(found) == 1, (piece, found)
    return found[0]


def check_work(events: list[dict]) -> None:
    kernels = of(events, "kernel")
    names = " ".join(kernel["name"] for kernel in kernels)
    for name in ("reduce_kernel", "vectorized_elementwise_kernel", "cublas", "multi_tensor_apply"):
        assert name in names, (name, names)
    for kernel in kernels:
        assert abs(kernel["dur"] - 10) < 0.1, kernel
        call = joined(events, kernel)
        assert "Launch" in call["name"], call
        assert call["ts"] <= kernel["ts"], (call, kernel)
        operators = [
            event
            for event in of(events, "cpu_op")
            if event["args"].get("External id") == kernel["args"]["External id"]
        ]
        assert operators, kernel
    copies = {copy["name"]: copy["args"]["bytes"] for copy in of(events, "gpu_memcpy")}
    assert copies["Memcpy HtoD (Pageable -> Device)"] == 8 * 64 * 4, copies
    assert copies["Memcpy DtoH (Device -> Pageable)"] == 8 * 64 * 4, copies
    fills = of(events, "gpu_memset")
    # In older releases of PyTorch zero_() launches a kernel, so there is no fill to see.
    assert len(fills) == (1 if torch.__version__ >= (2, 15) else 0), fills
    for fill in fills:
        assert fill["args"]["bytes"] == 1 << 20, fill
        assert joined(events, fill)["name"] == "cudaMemsetAsync"
    in_order = sorted(kernels, key=lambda kernel: kernel["args"]["correlation"])
    ends = [0.0] + [kernel["ts"] + kernel["dur"] for kernel in in_order]
    assert all(kernel["ts"] >= end - 0.01 for kernel, end in zip(in_order, ends, strict=False))


activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
with profile(activities=activities, profile_memory=True, record_shapes=True) as whole:
    step()
    model(torch.randn(8, 64).to("cuda")).cpu()
    torch.empty(1 << 20, dtype=torch.uint8, device="cuda").zero_()
    torch.cuda.synchronize()
whole.export_chrome_trace(str(folder / "whole.json"))
assert any(event.get("name") == "one step" for event in read(folder / "whole.json"))
check_work(read(folder / "whole.json"))
averages = {average.key: average for average in whole.key_averages()}
assert averages["aten::addmm"].count == 2
assert averages["aten::addmm"].device_time_total > 0
memory = [event for event in read(folder / "whole.json") if event.get("name") == "[memory]"]
assert any(event["args"]["Device Type"] == 1 for event in memory), "memory of the device"


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
