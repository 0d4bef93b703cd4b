"""An optimizer whose state is not created by its steps: it is loaded from a file to the GPU or to
the host, moved by the program itself, in parts of distributed tensors, or in eight bits. Prints the
bytes of the state, as JSON."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.optim import Adam, AdamW, Optimizer

WIDTH = 1024
LAYERS = 4
KIND = sys.argv[1]


class Short(Optimizer):
    """Stores its state in eight bits, in lists, and loads it with its own method."""

    def __init__(self, parameters: Iterator[nn.Parameter]) -> None:
        super().__init__(parameters, {"lr": 1e-3})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["both"] = [torch.zeros_like(parameter, dtype=torch.int8) for _ in "mv"]
                parameter -= group["lr"] * parameter.grad

    def load_state_dict(self, told: dict[str, Any]) -> None:
        parameters = [p for group in self.param_groups for p in group["params"]]
        for number, state in told["state"].items():
            self.state[parameters[number]] = state


def model() -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))


def train(trained: nn.Module, optimizer: Optimizer, steps: int) -> None:
    for _ in range(steps):
        trained(torch.rand(16, WIDTH, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def tensors_of(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from tensors_of(part)
    elif isinstance(value, torch.Tensor):
        yield getattr(value, "_local_tensor", value)


def saved(kind: type[Optimizer]) -> io.BytesIO:
    """Returns a file with the state of an optimizer of this kind after a step on the host."""
    made = model()
    optimizer = kind(made.parameters())
    made(torch.rand(16, WIDTH)).square().mean().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    return file


def sharded() -> tuple[nn.Module, Optimizer]:
    from torch.distributed import init_process_group
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions,
        set_optimizer_state_dict,
    )
    from torch.distributed.fsdp import fully_shard

    init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    trained = model().cuda()
    fully_shard(trained)
    optimizer = Adam(trained.parameters())
    whole = torch.load(saved(Adam), map_location="cpu")
    names = [name for name, _ in trained.named_parameters()]
    state = {names[number]: one for number, one in whole["state"].items()}
    group = whole["param_groups"][0] | {"params": names}
    told = {"state": state, "param_groups": [group]}
    options = StateDictOptions(full_state_dict=True)
    set_optimizer_state_dict(trained, optimizer, told, options=options)
    return trained, optimizer


def prepared() -> tuple[nn.Module, Optimizer]:
    if KIND == "sharded":
        return sharded()
    kind = {"eight_bits": Short, "swapped": AdamW, "swapped_late": AdamW}.get(KIND, Adam)
    trained = model()
    optimizer = kind(trained.parameters())
    if KIND == "moved":
        optimizer.load_state_dict(torch.load(saved(kind)))
        trained.cuda()
        for state in optimizer.state.values():
            for name, value in state.items():
                if isinstance(value, torch.Tensor):
                    state[name] = value.cuda()
        return trained, optimizer
    trained.cuda()
    place = "cpu" if KIND == "from_host" else "cuda"
    optimizer.load_state_dict(torch.load(saved(kind), map_location=place))
    return trained, optimizer


trained, optimizer = prepared()
if KIND != "not_stepped":
    train(trained, optimizer, 20 if KIND == "swapped_late" else 3)
if KIND.startswith("swapped"):  # moved to the host while something else runs, and back
    for state in optimizer.state.values():
        state.update({name: value.cpu() for name, value in state.items()})
    for state in optimizer.state.values():
        state.update({name: value.cuda() for name, value in state.items()})
    train(trained, optimizer, 17 if KIND == "swapped_late" else 3)
bytes_of_state = sum(t.nbytes for t in tensors_of(dict(optimizer.state)) if t.is_cuda)
large = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")  # this makes the peak
if KIND == "swapped_late":
    optimizer.state.clear()  # at its end the program does not show its state
print(json.dumps({"optimizer_state": bytes_of_state}))
