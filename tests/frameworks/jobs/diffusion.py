"""Trains a small U-Net to remove noise from pictures, then draws some."""

from __future__ import annotations

import diffusers
import torch
from tell import parameters_of, state_of, tell, trained_of

STEPS = 6
model = diffusers.UNet2DModel(
    sample_size=32,
    block_out_channels=(64, 128, 256),
    down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
).cuda()
noise_of = diffusers.DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(STEPS):
    pictures = torch.randn(8, 3, 32, 32, device="cuda")
    noise = torch.randn_like(pictures)
    times = torch.randint(0, 100, (8,), device="cuda")
    guess = model(noise_of.add_noise(pictures, noise, times), times).sample
    torch.nn.functional.mse_loss(guess, noise).backward()
    optimizer.step()
    optimizer.zero_grad()

pipeline = diffusers.DDPMPipeline(model, noise_of)
pipeline.set_progress_bar_config(disable=True)
pipeline(batch_size=2, num_inference_steps=5, output_type="np")
tell(
    steps=STEPS,
    parameters=parameters_of(model),
    gradients=trained_of(model),
    optimizer_state=state_of(optimizer),
)
