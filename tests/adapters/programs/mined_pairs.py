"""Trains embeddings with pairs mined from a queue; their number depends on values.

python mined_pairs.py CLASSES [STEPS [BATCH [QUEUE [DEVICE]]]] prints a line for each step: its
number, the numbers of mined pairs, the peak of memory in bytes, and the live bytes after it.
"""

from __future__ import annotations

import sys
import time

import torch

WIDTH = 512
SPREAD = 1.0
MARGIN = 0.2
TEMPERATURE = 0.1


class Queue:
    """The embeddings and labels of the latest batches."""

    def __init__(self, most: int, device: str) -> None:
        self.embeddings = torch.zeros(most, WIDTH, device=device)
        self.labels = torch.zeros(most, dtype=torch.long, device=device)
        self.start, self.count = 0, 0

    def push(self, embeddings: torch.Tensor, labels: torch.Tensor) -> None:
        most = len(self.labels)
        places = (torch.arange(len(labels), device=labels.device) + self.start) % most
        self.embeddings[places] = embeddings.detach()
        self.labels[places] = labels
        self.start = (self.start + len(labels)) % most
        self.count = min(self.count + len(labels), most)


def mine(similarity: torch.Tensor, same: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Selects positives less similar than the most similar negative, and negatives in reverse."""
    beyond = torch.finfo(similarity.dtype).max
    positives, negatives = torch.where(same), torch.where(~same)
    sure, unsure = similarity.clone(), similarity.clone()
    sure[negatives] = beyond
    unsure[positives] = -beyond
    sure, sure_order = torch.sort(sure, dim=1)
    unsure, unsure_order = torch.sort(unsure, dim=1)
    hard = torch.where(sure - MARGIN < unsure[:, -1].unsqueeze(1))
    harder = torch.where(unsure + MARGIN > sure[:, 0].unsqueeze(1))
    return hard[0], sure_order[hard], harder[0], unsure_order[harder]


def loss_of(similarity: torch.Tensor, pairs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Compares each positive pair with all negative pairs of the same anchor."""
    anchors, positives, others, negatives = pairs
    if len(anchors) == 0 or len(others) == 0:
        return similarity.sum() * 0
    positive = similarity[anchors, positives].unsqueeze(1) / TEMPERATURE
    negative = similarity[others, negatives] / TEMPERATURE
    is_own = (others.unsqueeze(0) == anchors.unsqueeze(1)).to(similarity.dtype)
    negative = negative * is_own
    negative[is_own == 0] = torch.finfo(similarity.dtype).min
    return (torch.logsumexp(torch.cat([positive, negative], 1), 1) - positive.squeeze(1)).mean()


def main() -> None:
    given = sys.argv[1:]
    classes, steps, batch, most = (
        int(given[i]) if i < len(given) else default for i, default in enumerate([64, 4, 256, 1024])
    )
    device = given[4] if len(given) > 4 else "cuda"
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(128, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH)
    ).to(device)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    centres = torch.randn(classes, 128) * SPREAD
    queue = Queue(most, device)
    for step in range(steps):
        began = time.time()
        labels = torch.randint(0, classes, (batch,))
        inputs = (centres[labels] + torch.randn(batch, 128)).to(device)
        labels = labels.to(device)
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        embeddings = torch.nn.functional.normalize(net(inputs))
        queue.push(embeddings, labels)
        known, known_labels = queue.embeddings[: queue.count], queue.labels[: queue.count]
        similarity = embeddings @ known.T
        pairs = mine(similarity.detach(), labels.unsqueeze(1) == known_labels.unsqueeze(0))
        loss = loss_of(similarity, pairs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory = (0, 0)
        if device == "cuda":
            memory = (torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated())
        print(step, len(pairs[0]), len(pairs[2]), *memory, flush=True)
        print(round(time.time() - began, 1), file=sys.stderr)


if __name__ == "__main__":
    main()
