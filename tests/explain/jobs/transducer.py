"""Each frame of sound meets each letter, over all classes. Mended: the loss of pieces."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Joint(nn.Module):
    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.audio = nn.Linear(40, width)
        self.text = nn.Embedding(classes, width)
        self.out = nn.Linear(width, classes)

    def forward(self, sound: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        joined = torch.tanh(self.audio(sound)[:, :, None] + self.text(text)[:, None])
        return self.out(joined)


model = Joint(64, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _step in range(3):
    sound = torch.randn(8, 300, 40, device="cuda")
    text = torch.zeros(8, 60, dtype=torch.long, device="cuda")
    optimizer.zero_grad()
    for piece, letters in zip(
        sound.split(1 if mended else 8), text.split(1 if mended else 8), strict=True
    ):
        scores = model(piece, letters).log_softmax(-1)  # <-- place
        loss = -scores[..., 0].mean() - scores[..., 1].mean()
        loss.backward()
    optimizer.step()
print(loss.shape)
