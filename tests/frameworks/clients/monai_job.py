"""Trains a network for volumes on random ones. With `graphs` it then answers from a CUDA graph."""

from __future__ import annotations

import torch
from monai.losses import DiceLoss
from monai.networks.nets import UNet
from tell import captured
from training import WITH_GRAPHS, tell_training, train

STEPS = 4
SIDE = 32


def loss_of(model: torch.nn.Module) -> torch.Tensor:
    volumes = torch.rand(2, 1, SIDE, SIDE, SIDE).cuda()
    labels = torch.randint(3, (2, 1, SIDE, SIDE, SIDE)).cuda()
    return DiceLoss(to_onehot_y=True, softmax=True)(model(volumes), labels)


torch.manual_seed(1)
model = UNet(3, 1, 3, channels=(16, 32, 64, 128), strides=(2, 2, 2)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
finite = train(lambda: loss_of(model), optimizer, STEPS)
if WITH_GRAPHS:
    volume = torch.rand(1, 1, SIDE, SIDE, SIDE, device="cuda")
    assert captured(lambda: model(volume)) == [1, 3, SIDE, SIDE, SIDE]
tell_training(finite, STEPS, optimizer, model)
