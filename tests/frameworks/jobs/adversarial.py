"""A generator and a discriminator, each with its own optimizer, alternate in each batch."""

from __future__ import annotations

import torch
from tell import parameters_of, state_of, tell, trained_of
from torch import nn

STEPS = 6
BATCH = 16
NOISE = 64


def generator_of(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, width * 4, 4, 1, 0, bias=False),
        nn.BatchNorm2d(width * 4),
        nn.ReLU(inplace=True),
        nn.ConvTranspose2d(width * 4, width, 4, 4, 0, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.ConvTranspose2d(width, 3, 4, 4, 0, bias=False),
        nn.Tanh(),
    )


def discriminator_of(width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 4, 0, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(width, width * 4, 4, 4, 0, bias=False),
        nn.BatchNorm2d(width * 4),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(width * 4, 1, 4, 1, 0, bias=False),
        nn.Sigmoid(),
    )


def train(generator: nn.Module, discriminator: nn.Module) -> int:
    """Trains, and returns the bytes of the optimizers' state."""
    criterion = nn.BCELoss()
    of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_discriminator = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    pictures = torch.rand(STEPS * BATCH, 3, 64, 64)
    for real in pictures.split(BATCH):
        ones, zeros = torch.ones(BATCH).cuda(), torch.zeros(BATCH).cuda()
        discriminator.zero_grad()
        criterion(discriminator(real.cuda()).view(-1), ones).backward()
        fake = generator(torch.randn(BATCH, NOISE, 1, 1).cuda())
        criterion(discriminator(fake.detach()).view(-1), zeros).backward()
        of_discriminator.step()
        generator.zero_grad()
        criterion(discriminator(fake).view(-1), ones).backward()
        of_generator.step()
    return state_of(of_generator) + state_of(of_discriminator)


generator, discriminator = generator_of(128).cuda(), discriminator_of(128).cuda()
state = train(generator, discriminator)
tell(
    steps=STEPS,
    parameters=parameters_of(generator) + parameters_of(discriminator),
    gradients=trained_of(generator) + trained_of(discriminator),
    optimizer_state=state,
)
