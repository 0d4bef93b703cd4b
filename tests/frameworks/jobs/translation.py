"""An encoder and a decoder (T5) learn with Adafactor."""

from __future__ import annotations

import torch
import transformers
from tell import parameters_of, state_of, tell, trained_of
from text import WORDS, sentences

STEPS = 6
shape = transformers.T5Config(
    vocab_size=WORDS, d_model=384, d_ff=1024, num_layers=4, num_heads=6, decoder_start_token_id=0
)
model = transformers.T5ForConditionalGeneration(shape).cuda()
optimizer = transformers.Adafactor(model.parameters(), lr=1e-3, relative_step=False)
rows = torch.stack([row["input_ids"] for row in sentences(8 * STEPS, 96)]).cuda()
for batch in rows.split(8):
    loss = model(input_ids=batch, labels=batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
tell(
    steps=STEPS,
    parameters=parameters_of(model),
    gradients=trained_of(model),
    optimizer_state=state_of(optimizer),
)
