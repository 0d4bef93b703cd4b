"""Adapters of a frozen language model are trained. `graphs`: then it answers from a graph."""

from __future__ import annotations

import sys

import peft
import torch
import transformers
from tell import parameters_of, state_of, tell_client
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


def answer_from_a_graph(model: torch.nn.Module) -> list[int]:
    words = torch.ones((1, 16), dtype=torch.long, device="cuda")
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            model(input_ids=words, use_cache=False)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answer = model(input_ids=words, use_cache=False).logits
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    return list(answer.shape)


torch.manual_seed(1)
base = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE))
wanted = peft.LoraConfig(r=64, target_modules=["q_proj", "v_proj", "up_proj"])
model = peft.get_peft_model(base, wanted).cuda()
optimizer = torch.optim.AdamW(part for part in model.parameters() if part.requires_grad)
losses = train(model, optimizer)
if "graphs" in sys.argv[1:]:
    assert answer_from_a_graph(model) == [1, 16, SHAPE["vocab_size"]]
tell_client(
    end=losses,
    iterations=STEPS,
    parameters=parameters_of(model),
    optimizer_state=state_of(optimizer),
)
