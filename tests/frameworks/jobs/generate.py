"""Generates text, word by word. The argument is the kind of cache, dynamic or static."""

from __future__ import annotations

import sys

import torch
import transformers
from tell import parameters_of, size_of, tell
from text import SHAPE, WORDS

WORD_COUNT = 24
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE)).cuda().eval()
prompt = torch.randint(1, WORDS, (16, 384), generator=torch.Generator().manual_seed(1)).cuda()
answer = model.generate(
    prompt,
    attention_mask=torch.ones_like(prompt),
    min_new_tokens=WORD_COUNT,
    max_new_tokens=WORD_COUNT,
    do_sample=False,
    cache_implementation=sys.argv[1],
    disable_compile=True,
    return_dict_in_generate=True,
    pad_token_id=0,
)
layers = answer.past_key_values.layers
tell(
    forwards=WORD_COUNT,
    parameters=parameters_of(model),
    caches=size_of(tensor for layer in layers for tensor in (layer.keys, layer.values)),
)
