"""Whisper transcribes noise. With `graphs` it then encodes a part of it from a CUDA graph."""

from __future__ import annotations

import sys

import numpy as np
import torch
import whisper
from tell import captured, parameters_of, tell_client
from whisper.model import ModelDimensions, Whisper

PIECES, SECONDS, BANDS, WIDTH, WORDS = 2, 30, 80, 256, 8

torch.manual_seed(1)
shape = ModelDimensions(
    n_mels=BANDS,
    n_audio_ctx=1500,
    n_audio_state=WIDTH,
    n_audio_head=4,
    n_audio_layer=4,
    n_vocab=51865,
    n_text_ctx=448,
    n_text_state=WIDTH,
    n_text_head=4,
    n_text_layer=4,
)
model = Whisper(shape).cuda().eval()
calls = 0


def count(*_: object) -> None:
    global calls
    calls += 1


model.decoder.register_forward_hook(count)
noise = np.random.default_rng(1).normal(0, 0.1, PIECES * SECONDS * whisper.audio.SAMPLE_RATE)
written = whisper.transcribe(
    model,
    noise.astype(np.float32),
    language="en",
    temperature=0.0,
    no_speech_threshold=None,
    sample_len=WORDS,
    without_timestamps=True,
)
if "graphs" in sys.argv[1:]:
    piece = torch.rand(1, BANDS, 3000, device="cuda", dtype=torch.float16)
    assert captured(lambda: model.encoder(piece)) == [1, 1500, WIDTH]
tell_client(
    end=len(written["segments"]),
    iterations=calls,
    parameters=parameters_of(model),
)
