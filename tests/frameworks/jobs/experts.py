"""Trains a mixture of experts (Mixtral)."""

from __future__ import annotations

import torch
import transformers
from tell import parameters_of, state_of, tell, trained_of
from text import SHAPE, sentences

STEPS = 5
shape = transformers.MixtralConfig(
    **SHAPE | {"intermediate_size": 512, "num_hidden_layers": 3}, num_local_experts=4
)
model = transformers.MixtralForCausalLM(shape).cuda()
optimizer = torch.optim.AdamW(model.parameters())
rows = torch.stack([row["input_ids"] for row in sentences(4 * STEPS, 128)]).cuda()
for batch in rows.split(4):
    optimizer.zero_grad()
    model(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
tell(
    steps=STEPS,
    parameters=parameters_of(model),
    gradients=trained_of(model),
    optimizer_state=state_of(optimizer),
)
