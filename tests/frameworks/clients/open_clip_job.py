"""CLIP is trained on random pictures and texts. `graphs`: then it sees a picture from a graph."""

from __future__ import annotations

import sys

import open_clip
import torch
from open_clip.model import CLIP
from tell import captured, parameters_of, state_of, tell_client

STEPS, ROWS, SIDE, WORDS, WIDTH = 5, 8, 64, 2048, 256


def train(model: CLIP, optimizer: torch.optim.Optimizer) -> list[bool]:
    measure = open_clip.ClipLoss()
    finite = []
    for _ in range(STEPS):
        pictures = torch.rand(ROWS, 3, SIDE, SIDE).cuda()
        texts = torch.randint(WORDS, (ROWS, 32)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = measure(*model(pictures, texts))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        finite.append(bool(torch.isfinite(loss)))
    return finite


torch.manual_seed(1)
model = CLIP(
    embed_dim=WIDTH,
    vision_cfg={"image_size": SIDE, "layers": 4, "width": WIDTH, "patch_size": 8},
    text_cfg={"context_length": 32, "vocab_size": WORDS, "width": WIDTH, "heads": 4, "layers": 4},
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
finite = train(model, optimizer)
if "graphs" in sys.argv[1:]:
    picture = torch.rand(1, 3, SIDE, SIDE, device="cuda")
    assert captured(lambda: model.encode_image(picture)) == [1, WIDTH]
tell_client(
    end=finite,
    iterations=STEPS,
    parameters=parameters_of(model),
    optimizer_state=state_of(optimizer),
)
