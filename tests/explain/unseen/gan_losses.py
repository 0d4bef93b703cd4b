"""A GAN; the discriminator's loss reaches into the generator. Mended: the picture is detached."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def network(width: int) -> nn.Module:
    return nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(6)])


generator = network(1024).cuda()
critic = network(1024).cuda()
of_generator = torch.optim.SGD(generator.parameters(), lr=0.01)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.01)


def train_step(noise: torch.Tensor, real: torch.Tensor) -> None:
    fake = generator(noise)
    shown = fake.detach() if mended else fake
    critic_loss = critic(shown).mean() - critic(real).mean()  # <-- place
    of_critic.zero_grad()
    critic_loss.backward(retain_graph=not mended)  # <-- place
    generator_loss = -critic(fake).mean()
    of_generator.zero_grad()
    generator_loss.backward()
    of_generator.step()
    of_critic.step()


for step in range(3):
    noise = torch.randn(4096, 1024, device="cuda")
    train_step(noise, torch.randn(4096, 1024, device="cuda"))
    print("step", step)
