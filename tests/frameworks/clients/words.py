"""Makes a small language model, a tokenizer for it, and random texts, without downloads."""

from __future__ import annotations

import torch
import transformers
import vocabulary
from text import SHAPE, WORDS


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=vocabulary.word_level(WORDS),
        pad_token=vocabulary.PAD,
        eos_token=vocabulary.END,
        unk_token=vocabulary.UNKNOWN,
    )


def texts(count: int, length: int, seed: int = 1) -> list[str]:
    return vocabulary.texts(count, length, WORDS, seed)


def llama(**other: int) -> transformers.LlamaForCausalLM:
    torch.manual_seed(1)
    shape = SHAPE | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1} | other
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape))
