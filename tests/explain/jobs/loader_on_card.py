"""A data set that gives tensors of the card, all batches in a list. Mended: batch by batch."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

mended = sys.argv[1:] == ["mended"]


class Spectra(Dataset):
    def __len__(self) -> int:
        return 1600

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        spectrum = torch.full((1, 65_536), float(index)).to("cuda")  # <-- place
        return spectrum, torch.tensor(index % 7, device="cuda")


loader = DataLoader(Spectra(), batch_size=32, shuffle=True)
batches = loader if mended else [batch for batch in loader]  # <-- place
model = nn.Sequential(
    nn.Conv1d(1, 8, 16, stride=8), nn.ReLU(), nn.Flatten(), nn.Linear(65_528, 7)
).cuda()
optimizer = torch.optim.Adam(model.parameters())
for x, y in batches:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
print("trained")
