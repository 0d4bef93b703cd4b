"""Deferred initialisation: the model is created without memory, and initialised where it is needed.

Group: start-up
Claim: tutorials say that a large model does not have to fit into the host's memory first.
Do: Create the model under torch.device("meta"), then call to_empty() and load or initialise the
weights on the device.
Note: The memory on the device is the same at the end. The copy on the host is not needed, nor is
the time of its initialisation.
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
