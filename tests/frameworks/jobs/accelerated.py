"""A loop of accelerate's: twelve batches, of which two make one step."""

from __future__ import annotations

import accelerate
import torch
import transformers
from tell import parameters_of, state_of, tell, trained_of
from text import SHAPE, sentences

accelerator = accelerate.Accelerator(gradient_accumulation_steps=2, mixed_precision="bf16")
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE))
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(sentences(48, 128), batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

for batch in loader:
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()

tell(
    steps=6,
    parameters=parameters_of(model),
    gradients=trained_of(model),
    optimizer_state=state_of(optimizer.optimizer),
)
