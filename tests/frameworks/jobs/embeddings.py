"""A sentence transformer embeds sentences, in six batches."""

from __future__ import annotations

import tempfile
from pathlib import Path

import sentence_transformers
import transformers
from tell import parameters_of, tell

WORDS = [f"word{number}" for number in range(2000)]
shape = transformers.BertConfig(
    vocab_size=2005,
    hidden_size=384,
    intermediate_size=1024,
    num_hidden_layers=4,
    num_attention_heads=6,
)
with tempfile.TemporaryDirectory() as folder:
    words = Path(folder, "vocab.txt")
    words.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    transformers.BertModel(shape).save_pretrained(folder)
    transformers.BertTokenizer(str(words)).save_pretrained(folder)
    model = sentence_transformers.SentenceTransformer(folder, device="cuda")
text = [" ".join(WORDS[start : start + 100]) for start in range(96)]
model.encode(text, batch_size=16)
tell(forwards=6, parameters=parameters_of(model))
