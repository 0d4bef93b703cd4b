"""Learns a metric with a memory of earlier batches, and a miner that selects the hard pairs: values
decide which pairs are hard, and the matrix of mined pairs has one entry for each.

Prints the size of that matrix in each step.
"""

import torch

torch.manual_seed(0)
WIDTH, BATCH, CLASSES, STEPS = 512, 192, 32, 3
model = torch.nn.Linear(WIDTH, WIDTH, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = torch.nn.functional.normalize(torch.randn(512, WIDTH, device="cuda"))
kept_labels = torch.randint(0, CLASSES, (512,), device="cuda")


def mine(
    similarity: torch.Tensor, same: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    hardest_negative = similarity.masked_fill(same, -1).max(1, keepdim=True).values
    hardest_positive = similarity.masked_fill(~same, 1).min(1, keepdim=True).values
    anchors, positives = torch.where(same & (similarity - 0.1 < hardest_negative))
    others, negatives = torch.where(~same & (similarity + 0.02 > hardest_positive))
    few = torch.randperm(len(others), device="cuda")[:2000]
    return anchors, positives, others[few], negatives[few]


for _ in range(STEPS):
    batch = torch.randn(BATCH, WIDTH, device="cuda")
    labels = torch.randint(0, CLASSES, (BATCH,), device="cuda")
    similarity = torch.nn.functional.normalize(model(batch)) @ kept.t()
    same = labels[:, None] == kept_labels[None, :]
    anchors, positives, others, negatives = mine(similarity.detach(), same)
    positive = similarity[anchors, positives][:, None] / 0.07
    negative = similarity[others, negatives][None, :] / 0.07
    pairs = torch.where(anchors[:, None] == others[None, :], negative, float("-inf"))
    print(list(pairs.shape))
    loss = torch.nn.functional.softplus(pairs.logsumexp(1, keepdim=True) - positive).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    kept = torch.cat([kept, torch.nn.functional.normalize(model(batch)).detach()])[-512:]
    kept_labels = torch.cat([kept_labels, labels])[-512:]
