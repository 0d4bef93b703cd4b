"""Mixed precision in fp16 needs a GradScaler; bf16 does not.

Group: size
Claim: tutorials add the scaler without saying how much memory it needs.
Do: Prefer bf16 if the GPU supports it. Memory is no reason for this choice: the scaler stores only
a few numbers.
Note: The scaler stores the scale and a flag, and examines all gradients in place.
"""

import torch
from torch import Tensor, nn
from workload import LanguageModel, loss_of, main, train


def bf16_step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = loss_of(model, tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def before() -> None:
    train(LanguageModel().to("cuda"), bf16_step)


def after() -> None:
    scaler = torch.amp.GradScaler("cuda")

    def step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_of(model, tokens)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    train(LanguageModel().to("cuda"), step)


if __name__ == "__main__":
    main(before=before, after=after)
