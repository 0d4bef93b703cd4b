"""Split a model over two GPUs, with copies between them, and check what was copied."""

import torch
from torch import nn


def main() -> None:
    assert torch.cuda.device_count() == 2, torch.cuda.device_count()
    for there, back in ((0, 1), (1, 0)):
        data = torch.arange(1 << 18, dtype=torch.int32)
        round_trip = data.to(f"cuda:{there}").to(f"cuda:{back}").cpu()
        assert torch.equal(data, round_trip), f"{there} to {back}"
    print(f"step 1: copies, peers {torch.cuda.can_device_access_peer(0, 1)}", flush=True)

    first, second = nn.Linear(128, 256).to("cuda:0"), nn.Linear(256, 10).to("cuda:1")
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
    for step in range(2, 5):
        hidden = first(torch.randn(32, 128).to("cuda:0")).relu()
        loss = second(hidden.to("cuda:1", non_blocking=True)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for device in range(2):
            torch.cuda.synchronize(device)
        print(f"step {step}: on {loss.device}", flush=True)
    assert all(torch.cuda.memory_allocated(device) > 0 for device in range(2))


if __name__ == "__main__":
    main()
