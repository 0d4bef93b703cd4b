"""Distillation: the teacher needs no autograd graph, and can be in bf16.

Group: size
Claim: tutorials mention the student's size but not the teacher's.
Do: Run the teacher under no_grad and in bf16, or store its outputs on disk and do not load it.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from workload import LanguageModel, main, train

TEACHER_WIDTH = 768


def distil(teacher: nn.Module, with_grad: bool) -> None:
    def step(student: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
        with torch.set_grad_enabled(with_grad):
            wanted = teacher(tokens[:, :256]).flatten(0, 1).log_softmax(-1)
        answer = student(tokens[:, :256]).flatten(0, 1).log_softmax(-1)
        functional.kl_div(answer, wanted.detach(), log_target=True).backward()
        optimizer.step()
        optimizer.zero_grad()

    train(LanguageModel(layers=2).to("cuda"), step, batch=4)


def before() -> None:
    distil(LanguageModel(TEACHER_WIDTH).to("cuda"), with_grad=True)


def after() -> None:
    distil(LanguageModel(TEACHER_WIDTH).to("cuda", torch.bfloat16), with_grad=False)


if __name__ == "__main__":
    main(before=before, after=after)
