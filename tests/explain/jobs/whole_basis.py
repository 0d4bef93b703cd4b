"""Computes the principal directions of many vectors by a full decomposition.

Mended: it decomposes their small product matrix.
"""

import sys

import torch

mended = sys.argv[1:] == ["mended"]
vectors = torch.randn(16_000, 32, device="cuda")
centred = vectors - vectors.mean(0)
if mended:
    directions = torch.linalg.eigh((centred.T @ centred).cpu()).eigenvectors
else:
    directions = torch.linalg.svd(centred).Vh  # <-- place
print(directions.shape)
