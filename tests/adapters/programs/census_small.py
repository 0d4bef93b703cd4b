"""Has small tensors with less than a hundredth of its memory, and requests a census."""

import torch
import vramstow

large = torch.empty(1 << 32, dtype=torch.uint8, device="cuda")
small = [torch.empty(1001 * (i + 1), dtype=torch.uint8, device="cuda") for i in range(40)]
told = vramstow.census()
assert told is not None
for row in told.holders:
    print(row.blocks, "block:" if row.blocks == 1 else "blocks:", row.holder)
