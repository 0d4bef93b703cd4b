"""Trains adapters of a frozen language model. With `graphs` it then answers from a graph."""

from __future__ import annotations

import sys

import peft
import torch
import transformers
from tell import captured, parameters_of, state_of, tell_client
from text import SHAPE, sentences

STEPS = 6
ROWS = 4


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[float]:
    rows = torch.stack([row["input_ids"] for row in sentences(ROWS * STEPS, 64)]).cuda()
    losses = []
    for batch in rows.split(ROWS):
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(round(loss.item(), 3))
    return losses


torch.manual_seed(1)
base = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE))
wanted = peft.LoraConfig(r=64, target_modules=["q_proj", "v_proj", "up_proj"])
model = peft.get_peft_model(base, wanted).cuda()
optimizer = torch.optim.AdamW(part for part in model.parameters() if part.requires_grad)
losses = train(model, optimizer)
if "graphs" in sys.argv[1:]:
    words = torch.ones((1, 16), dtype=torch.long, device="cuda")
    shape = captured(lambda: model(input_ids=words, use_cache=False).logits)
    assert shape == [1, 16, SHAPE["vocab_size"]]
tell_client(
    end=losses,
    iterations=STEPS,
    parameters=parameters_of(model),
    optimizer_state=state_of(optimizer),
)
