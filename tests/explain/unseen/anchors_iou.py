"""Matches anchors to the boxes of pictures; one picture has very many. Mended: by hundreds."""

import sys

import torch

mended = sys.argv[1:] == ["mended"]


def overlap(anchors: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    low = torch.maximum(anchors[:, None, :2], boxes[None, :, :2])  # <-- place
    high = torch.minimum(anchors[:, None, 2:], boxes[None, :, 2:])  # <-- place
    size = (high - low).clamp(min=0)  # <-- place
    common = size[..., 0] * size[..., 1]
    area = (anchors[:, 2:] - anchors[:, :2]).prod(dim=1)
    others = (boxes[:, 2:] - boxes[:, :2]).prod(dim=1)
    return common / (area[:, None] + others[None] - common)


def match(anchors: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    if mended:
        best = torch.zeros(len(anchors), device="cuda")
        for part in boxes.split(50):
            best = torch.maximum(best, overlap(anchors, part).amax(dim=1))
        return best
    return overlap(anchors, boxes).amax(dim=1)  # <-- place


anchors = torch.rand(120_000, 4, device="cuda")
with torch.no_grad():
    for boxes in (12, 40, 7, 900, 31):
        best = match(anchors, torch.rand(boxes, 4, device="cuda"))
        print(boxes, "boxes", tuple(best.shape))
