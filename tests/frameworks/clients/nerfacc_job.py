"""Fits a radiance field to random colours of rays. With `graphs` its network then answers from a
CUDA graph."""

from __future__ import annotations

import nerfacc
import torch
from tell import captured
from training import WITH_GRAPHS, tell_training, train

STEPS, RAYS, SAMPLES, WIDTH, WAVES = 5, 512, 32, 256, 6


class Field(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("waves", 2.0 ** torch.arange(WAVES))
        self.trunk = torch.nn.Sequential(
            torch.nn.Linear(6 * WAVES, WIDTH),
            torch.nn.ReLU(),
            *(part for _ in range(6) for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())),
            torch.nn.Linear(WIDTH, 4),
        )

    def forward(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        angles = (places[..., None] * self.waves).flatten(-2)
        found = self.trunk(torch.cat([angles.sin(), angles.cos()], -1))
        return found[..., :3].sigmoid(), torch.nn.functional.softplus(found[..., 3])


def colours_of(field: Field, begin: torch.Tensor, way: torch.Tensor) -> torch.Tensor:
    edges = torch.linspace(0.1, 4.0, SAMPLES + 1, device="cuda").expand(RAYS, -1)
    first, last = edges[:, :-1], edges[:, 1:]
    middle = ((first + last) / 2)[..., None]
    colour, density = field(begin[:, None] + way[:, None] * middle)
    weights, _, _ = nerfacc.render_weight_from_density(first, last, density)
    return nerfacc.accumulate_along_rays(weights, colour)


def loss_of(field: Field) -> torch.Tensor:
    begin, way, wanted = (torch.rand(RAYS, 3).cuda() for _ in range(3))
    return torch.nn.functional.mse_loss(colours_of(field, begin, way), wanted)


torch.manual_seed(1)
field = Field().cuda()
optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
finite = train(lambda: loss_of(field), optimizer, STEPS)
if WITH_GRAPHS:
    places = torch.rand(RAYS, 3, device="cuda")
    assert captured(lambda: field(places)[1]) == [RAYS]
tell_training(finite, STEPS, optimizer, field)
