"""Ray Train runs a loop in a separate worker. With `graphs` the worker answers from a graph."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import ray
import ray.train
import torch
from ray.train.torch import TorchTrainer, prepare_model
from tell import captured, parameters_of, state_of

STEPS, ROWS, WIDTH = 5, 64, 1024


def loop(wanted: dict[str, Any]) -> None:
    torch.manual_seed(1)
    model = prepare_model(
        torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.ReLU(), torch.nn.Linear(4 * WIDTH, WIDTH)
        )
    )
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        loss = model(torch.rand(ROWS, WIDTH).cuda()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    if wanted["graphs"]:
        seen = torch.rand(ROWS, WIDTH, device="cuda")
        assert captured(lambda: model(seen)) == [ROWS, WIDTH]
    told = {
        "end": bool(torch.isfinite(loss)),
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
        "iterations": STEPS,
        "parameters": parameters_of(model),
        "optimizer_state": state_of(optimizer),
    }
    Path(wanted["told"]).write_text(json.dumps(told))


os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
os.environ |= {"RAY_worker_niceness": "0"}  # otherwise its workers starve on a busy machine
told = Path.cwd() / "told.json"
folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # a socket needs a short path
ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, _temp_dir=folder, log_to_driver=False)
trainer = TorchTrainer(
    loop,
    train_loop_config={"graphs": "graphs" in sys.argv[1:], "told": str(told)},
    scaling_config=ray.train.ScalingConfig(num_workers=1, use_gpu=True),
    run_config=ray.train.RunConfig(storage_path=str(Path.cwd() / "results")),
)
trainer.fit()
ray.shutdown()
shutil.rmtree(folder, ignore_errors=True)
print(told.read_text(), flush=True)
