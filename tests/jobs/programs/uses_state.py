"""Trains, and reads the state of the optimizer between two steps, while the GPU is full.

Prints the loss of each step and the values read, one JSON line each.
"""

import json
import sys
from collections.abc import Callable

import torch
from torch import nn

WIDTH = 1024
LAYERS = 4
BATCH = 4096


def read(states: list[torch.Tensor]) -> float:
    return sum(state.double().sum().item() for state in states)


def copy(states: list[torch.Tensor]) -> float:
    return sum(state.cpu().double().sum().item() for state in states)


def copy_a_part(states: list[torch.Tensor]) -> float:
    return sum(state.view(-1)[-1000:].cpu().double().sum().item() for state in states)


def write(states: list[torch.Tensor]) -> float:
    for state in states:
        state.mul_(0.5)
    return 0.0


def free(states: list[torch.Tensor]) -> float:
    kept = [state.clone() for state in states]
    for state, other in zip(states, kept, strict=True):
        state.set_(other)
    return read(states)


USES: dict[str, Callable[[list[torch.Tensor]], float]] = {
    "read": read,
    "copy": copy,
    "copy_a_part": copy_a_part,
    "write": write,
    "free": free,
}


def main() -> None:
    use = USES[sys.argv[1]]
    torch.manual_seed(1)
    torch.set_default_device("cuda")
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(5):
        kept = [torch.randn(BATCH, WIDTH)]
        for layer in model:
            kept.append(torch.tanh(layer(kept[-1])))
        used = 0.0
        if step >= 3:
            states = [each["exp_avg"] for each in optimizer.state.values()]
            used = use([state for state in states if state.dim() == 2])
        loss = kept[-1].square().mean()
        optimizer.zero_grad()
        loss.backward()
        del kept
        optimizer.step()
        print(json.dumps({"loss": loss.item(), "used": used}), flush=True)
    print(
        json.dumps(
            {
                "allocated_bytes": torch.cuda.max_memory_allocated(),
                "outside_bytes": torch.cuda.mem_get_info()[1]
                - torch.cuda.mem_get_info()[0]
                - torch.cuda.memory_reserved(),
            }
        )
    )


if __name__ == "__main__":
    main()
