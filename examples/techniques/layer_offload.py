"""Layers that move themselves: parameters are on the device only while their layer runs.

Group: recompute and move
Claim: tutorials say that a model does not have to fit onto the GPU, at the cost of copies.
Do: Use it for inference with a model that does not fit. Keep the host's copy in pinned memory, so
that the next layer can be copied while this one runs.
Note: In this script the layers are freed and copied again for each batch; only one layer, the
embeddings and the head are on the device. The host holds all parameters.
"""

import torch
from torch import Tensor, nn
from workload import Block, LanguageModel, annotate_parameters, iteration, main, text

WIDTH = 768
LAYERS = 8


class Visiting(nn.Module):
    """A layer that lives on the host, in pinned memory, and is on the device while it runs."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = [layer]  # a list hides it from .to(), which would move it
        self.kept = {name: value.data.pin_memory() for name, value in layer.named_parameters()}

    def forward(self, x: Tensor) -> Tensor:
        here = {name: value.to(x.device, non_blocking=True) for name, value in self.kept.items()}
        return torch.func.functional_call(self.layer[0], here, (x,))


@torch.no_grad()
def run(model: nn.Module) -> None:
    model.to("cuda")
    annotate_parameters(model)
    for number in range(3):
        iteration(number)
        model(text(4).to("cuda")[:, :-1])
    torch.cuda.synchronize()


def before() -> None:
    run(LanguageModel(WIDTH, LAYERS))


def after() -> None:
    run(LanguageModel(WIDTH, LAYERS, block=lambda width: Visiting(Block(width))))


if __name__ == "__main__":
    main(before=before, after=after)
