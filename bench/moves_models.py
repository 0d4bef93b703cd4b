"""The jobs of bench/moves.py: four trainings, and two models that are used alternately.

Each is plain PyTorch, and has as much arithmetic for each byte as trainings of such models.
Checkpoints, FSDP2 and the techniques written by hand process the `layers` of a model one by one.
Each layer is handed to `place` as soon as it is made, so the whole model need not fit onto the GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

Place = Callable[[nn.Module], nn.Module]


@dataclass
class Job:
    """A step is `passes` times `forward` of each model and, if `trains`, as many backward passes
    and a step of the optimizer."""

    models: list[nn.Module]
    forward: Callable[[nn.Module], Tensor]  # returns the loss or the result
    passes: int = 1
    trains: bool = True
    by_autocast: bool = False
    layers: int | None = None  # the first layers, which get checkpoints; None: all


class Block(nn.Module):
    """A layer of a transformer: causal attention and a perceptron."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.inward(self.norms[0](x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outward(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.norms[1](x))))


class Decoder(nn.Module):
    def __init__(self, words: int, width: int, layers: int, length: int, place: Place) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(
            place(Block(width, max(1, width // 128))) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def decoder_job(
    place: Place, words: int, width: int, layers: int, shape: tuple[int, int], passes: int
) -> Job:
    model = Decoder(words, width, layers, shape[1], place)
    tokens = torch.randint(words, shape)

    def forward(model: nn.Module) -> Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens)
            return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())

    return Job([model], forward, passes, by_autocast=True)


def decoder(is_tiny: bool, place: Place) -> Job:
    """A decoder whose activations are most of its memory."""
    if is_tiny:
        return decoder_job(place, words=256, width=128, layers=3, shape=(8, 128), passes=1)
    return decoder_job(place, words=16384, width=2048, layers=6, shape=(8, 2048), passes=1)


def wide(is_tiny: bool, place: Place) -> Job:
    """A model whose optimizer states are most of its memory: few layers, and gradients of several
    passes."""
    if is_tiny:
        return decoder_job(place, words=128, width=256, layers=3, shape=(1, 32), passes=2)
    return decoder_job(place, words=16384, width=4096, layers=2, shape=(2, 1024), passes=8)


class Bottleneck(nn.Module):
    """A block of ResNet: three convolutions and a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        sizes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(into, out, size, step, padding=size // 2, bias=False)
            for into, out, size, step in sizes
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(out) for _, out, _, _ in sizes)
        is_changed = stride > 1 or inputs != outputs
        self.beside = (
            nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
            if is_changed
            else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for number, (convolution, norm) in enumerate(
            zip(self.convolutions, self.norms, strict=True)
        ):
            y = norm(convolution(y))
            if number < 2:
                y = functional.relu(y, inplace=True)
        return functional.relu(y + self.beside(x), inplace=True)


class ResNet(nn.Module):
    def __init__(self, width: int, blocks: tuple[int, ...], classes: int, place: Place) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, padding=3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, padding=1),
        )
        layers, inputs = [], width
        for stage, count in enumerate(blocks):
            for number in range(count):
                stride = 2 if stage > 0 and number == 0 else 1
                layers.append(place(Bottleneck(inputs, width << stage, stride)))
                inputs = 4 * (width << stage)
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(inputs, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.stem(images)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean((2, 3)))


def resnet(is_tiny: bool, place: Place) -> Job:
    """ResNet-50, whose activations are nearly all of its memory."""
    width, blocks, classes = (8, (1, 1), 10) if is_tiny else (64, (3, 4, 6, 3), 1000)
    images = (64, 3, 32, 32) if is_tiny else (96, 3, 224, 224)
    model = ResNet(width, blocks, classes, place).to(memory_format=torch.channels_last)
    inputs = torch.randn(images).to(memory_format=torch.channels_last)
    labels = torch.randint(classes, (images[0],))

    def forward(model: nn.Module) -> Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return functional.cross_entropy(model(inputs), labels)

    return Job([model], forward, by_autocast=True)


def two_models(is_tiny: bool, place: Place) -> Job:
    """Two models; each is used for some batches, then the other, as for a cascade or a judge."""
    words, width, layers, shape = (128, 256, 3, (2, 64)) if is_tiny else (16384, 4096, 6, (8, 2048))
    passes = 2 if is_tiny else 4
    torch.set_default_dtype(torch.bfloat16)
    models = [
        Decoder(words, width, layers, shape[1], place).requires_grad_(False) for _ in range(2)
    ]
    torch.set_default_dtype(torch.float32)
    tokens = torch.randint(words, shape)

    @torch.no_grad()
    def forward(model: nn.Module) -> Tensor:
        return model(tokens)[:, -1].float().logsumexp(-1).mean()

    return Job(models, forward, passes, trains=False)


class Recurrent(nn.Module):
    """A layer of an LSTM that returns only its outputs."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cells = nn.LSTM(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.cells(x)[0]


class Lstm(nn.Module):
    def __init__(self, words: int, width: int, layers: int, place: Place) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(place(Recurrent(width)) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def lstm(is_tiny: bool, place: Place) -> Job:
    """An LSTM; the memory that cuDNN saves for the backward pass is most of it."""
    words, width, layers, shape = (64, 64, 3, (32, 8)) if is_tiny else (8192, 2048, 4, (256, 96))
    model = Lstm(words, width, layers, place)
    tokens = torch.randint(words, shape)

    def forward(model: nn.Module) -> Tensor:
        logits = model(tokens)
        return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())

    return Job([model], forward)


JOBS: dict[str, Callable[[bool, Place], Job]] = {
    "decoder": decoder,
    "wide": wide,
    "resnet": resnet,
    "two-models": two_models,
    "lstm": lstm,
}
