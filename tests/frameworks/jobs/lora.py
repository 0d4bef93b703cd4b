"""Trains adapters of a frozen model, by a hand-written loop."""

from __future__ import annotations

import peft
import torch
import transformers
from tell import parameters_of, state_of, tell, trained_of
from text import SHAPE, sentences

STEPS = 8


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    rows = torch.stack([row["input_ids"] for row in sentences(4 * STEPS, 128)]).cuda()
    for batch in rows.split(4):
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


base = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE))
wanted = peft.LoraConfig(r=64, target_modules=["q_proj", "v_proj", "up_proj"])
model = peft.get_peft_model(base, wanted).cuda()
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(trained)
train(model, optimizer)
tell(
    steps=STEPS,
    parameters=parameters_of(model),
    gradients=trained_of(model),
    optimizer_state=state_of(optimizer),
)
