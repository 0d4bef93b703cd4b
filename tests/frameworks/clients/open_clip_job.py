"""Trains CLIP on random pictures and texts. With `graphs` it then encodes from a CUDA graph."""

from __future__ import annotations

import open_clip
import torch
from open_clip.model import CLIP
from tell import captured
from training import WITH_GRAPHS, tell_training, train

STEPS, ROWS, SIDE, WORDS, WIDTH = 5, 8, 64, 2048, 256


def loss_of(model: CLIP) -> torch.Tensor:
    pictures = torch.rand(ROWS, 3, SIDE, SIDE).cuda()
    texts = torch.randint(WORDS, (ROWS, 32)).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        return open_clip.ClipLoss()(*model(pictures, texts))


torch.manual_seed(1)
model = CLIP(
    embed_dim=WIDTH,
    vision_cfg={"image_size": SIDE, "layers": 4, "width": WIDTH, "patch_size": 8},
    text_cfg={"context_length": 32, "vocab_size": WORDS, "width": WIDTH, "heads": 4, "layers": 4},
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
finite = train(lambda: loss_of(model), optimizer, STEPS)
if WITH_GRAPHS:
    picture = torch.rand(1, 3, SIDE, SIDE, device="cuda")
    assert captured(lambda: model.encode_image(picture)) == [1, WIDTH]
tell_training(finite, STEPS, optimizer, model)
