"""Trains with an optimizer whose state does not fit: steps_in_pieces.py KIND.

Prints the loss of each step, a sum of all weights and states, and the memory held at the end.
"""

import json
import sys
from collections.abc import Callable, Iterable

import torch
from torch import nn

WIDTH = 2048
LAYERS = 8
STEPS = 7

Parameters = Iterable[nn.Parameter]
KINDS: dict[str, Callable[[Parameters], torch.optim.Optimizer]] = {
    "foreach": lambda parameters: torch.optim.AdamW(parameters, foreach=True),
    "fused": lambda parameters: torch.optim.AdamW(parameters, fused=True, amsgrad=True),
    "loop": lambda parameters: torch.optim.Adam(parameters, foreach=False, maximize=True),
    "capturable": lambda parameters: torch.optim.Adam(parameters, capturable=True),
    "momentum": lambda parameters: torch.optim.SGD(parameters, 1e-3, 0.9, nesterov=True),
    "fused momentum": lambda parameters: torch.optim.SGD(parameters, 1e-3, 0.9, fused=True),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, 1e-4, momentum=0.5),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters),
    "nadam": lambda parameters: torch.optim.NAdam(parameters),
    "radam": lambda parameters: torch.optim.RAdam(parameters),
    "adamax": lambda parameters: torch.optim.Adamax(parameters),
    "adadelta": lambda parameters: torch.optim.Adadelta(parameters),
    "adafactor": lambda parameters: torch.optim.Adafactor(parameters),
    "scaler": lambda parameters: torch.optim.AdamW(parameters, fused=True),
    "groups": lambda parameters: torch.optim.AdamW(grouped(parameters), foreach=True),
}


def grouped(parameters: Parameters) -> list[dict]:
    known = list(parameters)
    first, second = known[: len(known) // 2], known[len(known) // 2 :]
    return [{"params": first, "lr": 1e-4}, {"params": second, "weight_decay": 0.0}]


def call_pieces() -> dict[str, int]:
    """Counts the calls of PyTorch's functions, and the maximum of their parameters."""
    seen = {"calls": 0, "most": 0}

    def counted(operator: Callable) -> Callable:
        def call(lists: list, *args: object, **kwargs: object) -> object:
            seen["calls"] += 1
            seen["most"] = max(seen["most"], len(lists))
            return operator(lists, *args, **kwargs)

        return call

    for name in ("_fused_adamw_", "_fused_sgd_", "_foreach_mul_"):
        setattr(torch, name, counted(getattr(torch, name)))
    return seen


def total(optimizer: torch.optim.Optimizer, model: nn.Module) -> int:
    """Returns the sum of all values' bits, which distinguishes all values."""
    states = [each for state in optimizer.state.values() for each in state.values()]
    tensors = [*model.parameters(), *(each for each in states if torch.is_tensor(each))]
    return sum(
        each.detach().cpu().float().contiguous().view(torch.int32).long().sum().item()
        for each in tensors
    )


def main() -> None:
    kind = sys.argv[1]
    torch.manual_seed(1)
    torch.set_default_device("cuda")
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    optimizer = KINDS[kind](model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=kind == "scaler", init_scale=2.0**100)
    inputs = torch.randn(64, WIDTH)
    seen = call_pieces()
    for step in range(STEPS):
        loss = model(inputs).square().mean()
        scaler.scale(loss).backward()
        seen.update(calls=0, most=0)
        scaler.step(optimizer)
        scaler.update(None if step % 3 else 2.0**8)
        calls = dict(seen)
        optimizer.zero_grad()
        print(json.dumps({"loss": loss.item(), "calls": calls}), flush=True)
    free, size = torch.cuda.mem_get_info()
    outside = size - free - torch.cuda.memory_reserved()
    held = torch.cuda.max_memory_allocated()
    print(json.dumps({"total": total(optimizer, model)}), flush=True)
    print(json.dumps({"allocated_bytes": held, "outside_bytes": outside}), flush=True)


main()
