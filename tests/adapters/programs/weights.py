"""Loads weights to the GPU in the way that the first argument names; prints their bytes."""

from __future__ import annotations

import mmap
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

WIDTH = 512
LAYERS = 6
KIND = sys.argv[1]
KEPT: list[nn.Module] = []


def network(device: str) -> nn.Sequential:
    with torch.device(device):
        return nn.Sequential(
            *(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)) for _ in range(LAYERS))
        )


def tensors_of_file() -> Iterator[tuple[str, torch.Tensor]]:
    """A file with all weights one after another, mapped as loaders do it."""
    state = network("cpu").state_dict()
    path = Path(tempfile.mkdtemp()) / "weights"
    path.write_bytes(b"".join(tensor.numpy().tobytes() for tensor in state.values()))
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    at = 0
    for name, tensor in state.items():
        flat = torch.frombuffer(mapped, dtype=torch.float32, count=tensor.numel(), offset=at)
        at += tensor.nbytes
        yield name, flat.view(tensor.shape)


def materialize_copy(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor[...].to(device="cuda", dtype=dtype)


def put(model: nn.Module, name: str, tensor: torch.Tensor) -> None:
    path, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(path), leaf, nn.Parameter(tensor, requires_grad=False))


class Quantised(nn.Module):
    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        scale = weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("quantised", (weight / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ (self.quantised * self.scale).T


class Adapted(nn.Module):
    """A frozen matrix with a small trained one."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.base = nn.Parameter(weight, requires_grad=False)
        self.down = nn.Parameter(torch.randn(8, WIDTH, device="cuda"))
        self.up = nn.Parameter(torch.zeros(WIDTH, 8, device="cuda"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.base.T + x @ self.down.T @ self.up.T


def matrices() -> list[torch.Tensor]:
    return [tensor.to("cuda", copy=True) for _, tensor in tensors_of_file() if tensor.dim() == 2]


def load() -> nn.Module:
    model = network("meta")
    if KIND == "copied":
        for name, tensor in tensors_of_file():
            put(model, name, materialize_copy(tensor, torch.bfloat16))
    elif KIND == "assigned":
        state = {name: tensor.cuda() for name, tensor in tensors_of_file()}
        model.load_state_dict(state, assign=True)
    elif KIND == "filled":
        model.to_empty(device="cuda")
        for name, tensor in tensors_of_file():
            model.get_parameter(name).data.copy_(tensor)
    elif KIND == "moved_behind":
        model = network("cpu")
        for parameter in model.parameters():
            parameter.data = parameter.data.cuda()
        model.eval()
    elif KIND == "entered":
        for name, tensor in tensors_of_file():
            path, _, leaf = name.rpartition(".")
            module = model.get_submodule(path)
            module._parameters[leaf] = nn.Parameter(tensor.cuda(), requires_grad=False)
        KEPT.append(model)  # the model lives until the program ends
    elif KIND == "quantised":
        model = nn.Sequential(*map(Quantised, matrices()))
    elif KIND == "adapted":
        model = nn.Sequential(*map(Adapted, matrices()))
    return model


def main() -> None:
    model = load()
    held = [*model.parameters(), *model.buffers()]
    dtype = next((p.dtype for p in model.parameters()), torch.float32)
    x = torch.randn(16, WIDTH, device="cuda", dtype=dtype)
    if KIND == "adapted":
        optimizer = torch.optim.SGD([p for p in held if p.requires_grad], lr=0.1)
        for _ in range(2):
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    else:
        with torch.no_grad():
            model(x)
    print(sum(tensor.nbytes for tensor in held))


main()
