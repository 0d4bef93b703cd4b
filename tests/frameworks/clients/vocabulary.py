"""Makes words without a meaning, texts from them, and a tokenizer for them."""

from __future__ import annotations

import random

import tokenizers

PAD, END, UNKNOWN = "<pad>", "<end>", "<unknown>"


def word_level(count: int) -> tokenizers.Tokenizer:
    """Returns a tokenizer for `count` words, including three special tokens."""
    names = [PAD, END, UNKNOWN, *(f"w{number}" for number in range(3, count))]
    known = {name: number for number, name in enumerate(names)}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token=UNKNOWN))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return words


def texts(count: int, length: int, words: int, seed: int = 1) -> list[str]:
    dice = random.Random(seed)
    return [" ".join(f"w{dice.randrange(3, words)}" for _ in range(length)) for _ in range(count)]
