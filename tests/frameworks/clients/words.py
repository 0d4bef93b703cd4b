"""A small language model, a tokenizer for it, and random texts: nothing is asked of a hub."""

from __future__ import annotations

import random

import tokenizers
import torch
import transformers
from text import SHAPE, WORDS

FIRST_WORD = 3  # after those that the tokenizer means something by


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    names = ["<pad>", "<end>", "<unknown>", *(f"w{number}" for number in range(FIRST_WORD, WORDS))]
    known = {name: number for number, name in enumerate(names)}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="<unknown>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<end>", unk_token="<unknown>"
    )


def texts(count: int, length: int, seed: int = 1) -> list[str]:
    dice = random.Random(seed)
    return [
        " ".join(f"w{dice.randrange(FIRST_WORD, WORDS)}" for _ in range(length))
        for _ in range(count)
    ]


def llama() -> transformers.LlamaForCausalLM:
    torch.manual_seed(1)
    shape = transformers.LlamaConfig(**SHAPE, pad_token_id=0, bos_token_id=1, eos_token_id=1)
    return transformers.LlamaForCausalLM(shape)
