"""Training and generation alternate on a GPU: meanwhile the training's memory is paused."""

from __future__ import annotations

import argparse

import torch
import vramstow

Tensors = list[torch.Tensor]


def train(weights: Tensors, momenta: Tensors, inputs: torch.Tensor) -> float:
    """Makes one step of a regression, with momentum."""
    loss = torch.zeros((), device="cuda")
    for weight in weights:
        loss = loss + (weight * inputs - 1).square().mean()
    gradients = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        for weight, momentum, gradient in zip(weights, momenta, gradients, strict=True):
            momentum.mul_(0.9).add_(gradient, alpha=1e5)
            weight.sub_(momentum)
    return float(loss.detach())


def generate(megabytes: int) -> float:
    """Needs more memory than is free beside the weights."""
    cache = [torch.full((1 << 18,), float(i), device="cuda") for i in range(megabytes)]
    return float(sum(part.mean() for part in cache))


def sums_of(tensors: Tensors) -> list[float]:
    return [float(tensor.detach().cpu().double().sum()) for tensor in tensors]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sleep", choices=["pause", "offload", "none"], required=True)
    parser.add_argument("--cache", type=int, default=300)
    options = parser.parse_args()
    count = 1 << 20
    with vramstow.region("training"):
        weights = [torch.full((count,), i / 16, device="cuda") for i in range(16)]
        momenta = [torch.zeros(count, device="cuda") for _ in weights]
        inputs = torch.arange(count, device="cuda") / count
    for weight in weights:
        weight.requires_grad_()
    for step in range(3):
        loss = train(weights, momenta, inputs)
        sums = sums_of(weights + momenta)
        torch.cuda.synchronize()
        if options.sleep == "pause":
            assert vramstow.pause("training")
        elif options.sleep == "offload":
            assert vramstow.offload("training")
        generated = generate(options.cache)
        if options.sleep != "none":
            assert vramstow.resume("training")
        assert sums == sums_of(weights + momenta), "what slept has changed"
        print(f"step {step} {loss:.9g} {sum(sums):.12g} {generated:.9g}", flush=True)


main()
