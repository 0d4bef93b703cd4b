"""A network for volumes is trained on random ones. `graphs`: then it answers from a CUDA graph."""

from __future__ import annotations

import sys

import torch
from monai.losses import DiceLoss
from monai.networks.nets import UNet
from tell import captured, parameters_of, state_of, tell_client

STEPS = 4
SIDE = 32


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[bool]:
    measure = DiceLoss(to_onehot_y=True, softmax=True)
    finite = []
    for _ in range(STEPS):
        volumes = torch.rand(2, 1, SIDE, SIDE, SIDE).cuda()
        labels = torch.randint(3, (2, 1, SIDE, SIDE, SIDE)).cuda()
        loss = measure(model(volumes), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        finite.append(bool(torch.isfinite(loss)))
    return finite


torch.manual_seed(1)
model = UNet(3, 1, 3, channels=(16, 32, 64, 128), strides=(2, 2, 2)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
finite = train(model, optimizer)
if "graphs" in sys.argv[1:]:
    volume = torch.rand(1, 1, SIDE, SIDE, SIDE, device="cuda")
    assert captured(lambda: model(volume)) == [1, 3, SIDE, SIDE, SIDE]
tell_client(
    end=finite,
    iterations=STEPS,
    parameters=parameters_of(model),
    optimizer_state=state_of(optimizer),
)
