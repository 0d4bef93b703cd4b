"""accelerate stores half of a model's layers on the host, with a hook around each module."""

from __future__ import annotations

import accelerate
import torch
import transformers
from tell import tell
from text import SHAPE, WORDS

CALLS = 4


def model_of() -> torch.nn.Module:
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE)).eval()
    places: dict[str, int | str] = {"model.embed_tokens": 0, "model.norm": 0, "lm_head": 0}
    places["model.rotary_emb"] = 0
    for number in range(len(model.model.layers)):
        places[f"model.layers.{number}"] = 0 if number % 2 == 0 else "cpu"
    return accelerate.dispatch_model(model, places)


@torch.no_grad()
def answer(model: torch.nn.Module) -> None:
    words = torch.randint(1, WORDS, (16, 256)).cuda()
    for _ in range(CALLS):
        model(words, use_cache=False)


answer(model_of())
tell(forwards=CALLS)
