"""The techniques of bench/moves.py with which a program itself needs less memory of the GPU.

Each function takes a job and returns the function that executes one step of it. `plain` does
nothing to save memory.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import sys
import types
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from moves_models import Job
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Step = Callable[[], Tensor]
BUCKET = 1 << 24  # elements; DeepSpeed's default of 5e8 is 2 GB
MOST_IN_TURN = 1 << 24  # elements; a larger parameter is alone in its turn
Around = Callable[[], AbstractContextManager]


def adamw(parameters: Iterable[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=1e-4, fused=True)


def training(
    job: Job,
    optimizer: torch.optim.Optimizer | TurnsOfStates,
    around: Around = nullcontext,
    tell_last: Callable[[bool], None] = lambda _: None,
) -> Step:
    """Returns steps with `around` around each forward pass; `tell_last` is called with whether it
    is the last."""
    model = job.models[0]

    def step() -> Tensor:
        for number in range(job.passes):
            tell_last(number == job.passes - 1)
            with around():
                loss = job.forward(model)
            (loss / job.passes).backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def inference(job: Job, around: Callable[[nn.Module], AbstractContextManager]) -> Step:
    """Returns steps with `around` around each use of a model."""

    def step() -> Tensor:
        results = []
        for model in job.models:
            with around(model):
                results += [job.forward(model) for _ in range(job.passes)]
        return torch.stack(results).sum()

    return step


def plain(job: Job) -> Step:
    if not job.trains:
        return inference(job, lambda _: nullcontext())
    return training(job, adamw(job.models[0].parameters()))


def save_on_cpu(job: Job) -> Step:
    around = functools.partial(torch.autograd.graph.save_on_cpu, pin_memory=True)
    return training(job, adamw(job.models[0].parameters()), around)


def without_packages() -> None:
    """Replaces two packages that TRL's file imports but does not need."""
    for name in ("accelerate", "accelerate.logging", "accelerate.utils", "transformers"):
        sys.modules[name] = types.ModuleType(name)
    versions = types.ModuleType("accelerate.utils.versions")
    versions.is_torch_version = lambda operation, version: operation == ">="  # type: ignore[attr-defined]
    sys.modules[versions.__name__] = versions
    sys.modules["accelerate.logging"].get_logger = logging.getLogger  # type: ignore[attr-defined]
    sys.modules["transformers"].is_torch_npu_available = lambda: False  # type: ignore[attr-defined]


def trl(job: Job) -> Step:
    """Uses TRL's OffloadActivations, with its streams. $MOVES_TRL is its file."""
    without_packages()
    spec = importlib.util.spec_from_file_location("activation_offloading", os.environ["MOVES_TRL"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = job.models[0]
    offloading = module.get_act_offloading_ctx_manager(model, use_streams=True)
    return training(job, adamw(model.parameters()), lambda: offloading)


def checkpoints(job: Job) -> Step:
    for layer in job.models[0].layers[: job.layers]:
        layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
    return plain(job)


def elements(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)


class TurnsOfStates:
    """Stores the optimizer's states in page-locked host memory. They are copied to the GPU in turns
    of some parameters, while the step of the turn before runs, and copied back after their own
    step, so the GPU needs memory for the states of three turns."""

    SLOTS = 3
    NAMES = ("exp_avg", "exp_avg_sq")

    def __init__(self, model: nn.Module) -> None:
        self._turns = [adamw(parameters) for parameters in self._divided(model)]
        self._inward, self._outward = torch.cuda.Stream(), torch.cuda.Stream()
        self._gone: list[torch.cuda.Event | None] = [None] * len(self._turns)
        most = max(elements(self._parameters(turn)) for turn in self._turns)
        self._slots = [torch.empty(len(self.NAMES) * most) for _ in range(self.SLOTS)]
        self._on_host: dict[tuple[Tensor, str], Tensor] = {}
        for turn in self._turns:
            for parameter in self._parameters(turn):
                turn.state[parameter] = {"step": torch.zeros(())}
                for name in self.NAMES:
                    state = torch.zeros(parameter.shape, device="cpu", pin_memory=True)
                    self._on_host[parameter, name] = state

    @staticmethod
    def _divided(model: nn.Module) -> list[list[Tensor]]:
        enough = min(MOST_IN_TURN, elements(model.parameters()) // 8)
        turns: list[list[Tensor]] = [[]]
        for parameter in model.parameters():
            if elements(turns[-1]) >= enough:
                turns.append([])
            turns[-1].append(parameter)
        return turns

    @staticmethod
    def _parameters(turn: torch.optim.Optimizer) -> list[Tensor]:
        return turn.param_groups[0]["params"]

    def step(self) -> None:
        arrivals = [self._bring(0)]
        for number, turn in enumerate(self._turns):
            if number + 1 < len(self._turns):
                arrivals.append(self._bring(number + 1))
            arrivals[number].wait()
            turn.step()
            self._send(number)

    def zero_grad(self) -> None:
        for turn in self._turns:
            turn.zero_grad()

    def _bring(self, number: int) -> torch.cuda.Event:
        with torch.cuda.stream(self._inward):
            # Wait until the slot is free. Before the first slot is used, wait until all copies of
            # the last step have finished.
            event = self._gone[number - self.SLOTS if number >= self.SLOTS else -1]
            if event is not None:
                event.wait()
            begin, slot = 0, self._slots[number % self.SLOTS]
            for parameter in self._parameters(self._turns[number]):
                for name in self.NAMES:
                    state = slot[begin : begin + parameter.numel()].view(parameter.shape)
                    state.copy_(self._on_host[parameter, name], non_blocking=True)
                    self._turns[number].state[parameter][name] = state
                    begin += parameter.numel()
            return self._inward.record_event()

    def _send(self, number: int) -> None:
        self._outward.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._outward):
            for parameter in self._parameters(self._turns[number]):
                for name in self.NAMES:
                    state = self._turns[number].state[parameter][name]
                    self._on_host[parameter, name].copy_(state, non_blocking=True)
            self._gone[number] = self._outward.record_event()


def states_by_hand(job: Job) -> Step:
    return training(job, TurnsOfStates(job.models[0]))


def locked(model: nn.Module) -> list[tuple[Tensor, Tensor]]:
    """Moves each parameter to a copy in page-locked memory."""
    pairs = []
    for parameter in model.parameters():
        copy = torch.empty_like(parameter, device="cpu", pin_memory=True)
        copy.copy_(parameter.data)
        parameter.data = copy
        pairs.append((parameter, copy))
    return pairs


def models_by_hand(job: Job) -> Step:
    """Copies a model to the GPU when it is used, and drops it after that; its copy on the host
    stays."""
    copies = {model: locked(model) for model in job.models}

    class Around(AbstractContextManager):
        def __init__(self, model: nn.Module) -> None:
            self._pairs = copies[model]

        def __enter__(self) -> None:
            for parameter, copy in self._pairs:
                parameter.data = copy.to("cuda", non_blocking=True)

        def __exit__(self, *_: object) -> None:
            for parameter, copy in self._pairs:
                parameter.data = copy

    return inference(job, Around)


class LayersInTurn:
    """Stores the layers in page-locked host memory. Each is copied while the layer before it
    computes, into one of two buffers on the GPU, the one that is free by then."""

    def __init__(self, job: Job) -> None:
        self._pairs = [[locked(layer) for layer in model.layers] for model in job.models]
        self._order = [pairs for model in self._pairs for _ in range(job.passes) for pairs in model]
        most = max(elements(copy for _, copy in pairs) for pairs in self._order)
        self._places = [torch.empty(most, dtype=torch.bfloat16) for _ in range(2)]
        self._inward = torch.cuda.Stream()
        self._arrivals: dict[int, torch.cuda.Event] = {}
        self._now = 0  # counts the uses of layers
        for model in job.models:
            for layer in model.layers:
                layer.register_forward_pre_hook(lambda *_: self._begin())

    def _begin(self) -> None:
        if self._now == 0:
            self._bring(0)
        self._bring(self._now + 1)
        self._arrivals.pop(self._now).wait()
        self._now += 1

    def _bring(self, number: int) -> None:
        self._inward.wait_stream(torch.cuda.current_stream())  # the previous layer has finished
        begin, place = 0, self._places[number % 2]
        with torch.cuda.stream(self._inward):
            for parameter, copy in self._order[number % len(self._order)]:
                part = place[begin : begin + copy.numel()].view(copy.shape)
                parameter.data = part.copy_(copy, non_blocking=True)
                begin += copy.numel()
            self._arrivals[number] = self._inward.record_event()


def layers_by_hand(job: Job) -> Step:
    turns = LayersInTurn(job)
    step = plain(job)

    def kept() -> Tensor:
        assert turns
        return step()

    return kept


def start_group() -> None:
    os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}
    os.environ.setdefault("MASTER_PORT", "0")
    torch.distributed.init_process_group(
        "cpu:gloo,cuda:nccl", store=torch.distributed.HashStore(), rank=0, world_size=1
    )


def fsdp(job: Job) -> Step:
    """Uses FSDP2's CPUOffloadPolicy on one rank, so parameters and states are on the host."""
    from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

    start_group()
    policy = CPUOffloadPolicy(pin_memory=True)
    for model in job.models:
        model.to(memory_format=torch.contiguous_format)  # it accepts only this format
        for layer in model.layers:
            fully_shard(layer, offload_policy=policy)
        fully_shard(model, offload_policy=policy)
    if not job.trains:
        return plain(job)
    model = job.models[0]
    # Gradients are copied to the host once per step.
    return training(job, adamw(model.parameters()), tell_last=model.set_requires_gradient_sync)


def deepspeed(job: Job) -> Step:
    """Uses ZeRO-Offload on one rank: the optimizer and its states are on the host."""
    import deepspeed as package

    start_group()
    model = job.models[0]
    settings = {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": job.passes,
        "zero_optimization": {
            "stage": 2,
            "offload_optimizer": {"device": "cpu", "pin_memory": True},
            "reduce_bucket_size": BUCKET,
            "allgather_bucket_size": BUCKET,
        },
        "zero_force_ds_cpu_optimizer": False,  # otherwise it first compiles its own optimizer
        "zero_allow_untested_optimizer": True,
        "torch_autocast": {"enabled": job.by_autocast, "dtype": "bfloat16"},
    }
    engine, *_ = package.initialize(
        model=model, optimizer=adamw(model.parameters()), config=settings, dist_init_required=False
    )

    def step() -> Tensor:
        for _ in range(job.passes):
            loss = job.forward(engine)
            engine.backward(loss)
            engine.step()
        return loss.detach()

    return step


@dataclass(frozen=True)
class Means:
    steps_of: Callable[[Job], Step]
    for_training: bool = True
    for_inference: bool = False
    place: Callable[[nn.Module], nn.Module] = lambda layer: layer


MEANS = {
    "plain": Means(plain, for_inference=True),
    "save_on_cpu": Means(save_on_cpu),
    "trl": Means(trl),
    "checkpoints": Means(checkpoints),
    "states-by-hand": Means(states_by_hand),
    "models-by-hand": Means(
        models_by_hand, for_training=False, for_inference=True, place=nn.Module.cpu
    ),
    "layers-by-hand": Means(
        layers_by_hand, for_training=False, for_inference=True, place=nn.Module.cpu
    ),
    "fsdp": Means(fsdp, for_inference=True, place=nn.Module.cpu),
    "deepspeed": Means(deepspeed),
}
