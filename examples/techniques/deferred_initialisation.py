"""Deferred initialisation: the model is made without memory, and filled where it is needed.

Group: start-up
Claim: tutorials say that a large model need not fit into the host's memory first.
Do: Build under torch.device("meta"), then to_empty() and load the weights, or initialise them, on
the device.
Note: The device ends with the same; what goes is the copy on the host, and the time that its
initialisation takes.
"""

import torch
from torch import nn
from workload import LanguageModel, evaluate, main

WIDTH = 1536


@torch.no_grad()
def before() -> None:
    evaluate(LanguageModel(WIDTH).to("cuda"), batch=1)


@torch.no_grad()
def after() -> None:
    with torch.device("meta"):
        model = LanguageModel(WIDTH)
    model.to_empty(device="cuda")
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding, nn.LayerNorm)):
            module.reset_parameters()
    evaluate(model, batch=1)


if __name__ == "__main__":
    main(before=before, after=after)
