"""Train a small transformer language model on one GPU.

The way many real jobs look: bfloat16 autocast, AdamW, gradient clipping, and a DataLoader whose
worker processes fill pinned memory. The data are random tokens made here, so nothing is downloaded.

    python transformer.py --steps 5
"""

import argparse

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset


class RandomTokens(Dataset):
    """Sequences of random tokens; the same ones for the same index, in every process."""

    def __init__(self, count: int, length: int, vocabulary: int) -> None:
        self.count = count
        self.length = length
        self.vocabulary = vocabulary

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        tokens = torch.randint(self.vocabulary, (self.length + 1,), generator=generator)
        return tokens[:-1], tokens[1:]


class LanguageModel(nn.Module):
    """Embedding, causal transformer layers, and a projection back to the vocabulary."""

    def __init__(self, vocabulary: int, width: int, heads: int, layers: int, length: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.1, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        hidden = self.token(tokens) + self.position[:length]
        return self.head(self.layers(hidden, mask=mask, is_causal=True))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5, help="how many batches to train on")
    parser.add_argument("--batch", type=int, default=8, help="sequences per batch")
    parser.add_argument("--length", type=int, default=128, help="tokens per sequence")
    parser.add_argument("--width", type=int, default=256, help="size of the hidden state")
    parser.add_argument("--layers", type=int, default=4, help="transformer layers")
    parser.add_argument("--workers", type=int, default=2, help="processes that load data")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and data")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    vocabulary = 1000
    device = torch.device("cuda")
    data = RandomTokens(arguments.steps * arguments.batch, arguments.length, vocabulary)
    loader = DataLoader(
        data, batch_size=arguments.batch, num_workers=arguments.workers, pin_memory=True
    )
    model = LanguageModel(
        vocabulary, arguments.width, heads=8, layers=arguments.layers, length=arguments.length
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step, (tokens, targets) in enumerate(loader, start=1):
        tokens = tokens.to(device, non_blocking=True)
        targets = targets.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens)
            loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step}: loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
