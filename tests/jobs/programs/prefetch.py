"""A loader copies the next batch on a stream of its own while the present one is used.

To load a batch takes 30 ms, in which a GPU ends its copy (1.3 ms) and the work before. Prints the
pinned MiB and the peak of PyTorch's reserved memory.
"""

import time

import torch

net = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
side = torch.cuda.Stream()


def prefetch() -> torch.Tensor:
    with torch.cuda.stream(side):
        time.sleep(0.03)
        loaded = torch.empty(16 * 1024, 1024, pin_memory=True)
        return loaded.to("cuda", non_blocking=True)


following = prefetch()
for _ in range(12):
    torch.cuda.current_stream().wait_stream(side)
    batch = following
    batch.record_stream(torch.cuda.current_stream())
    following = prefetch()
    net(batch[:256]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    del batch
pinned = torch.cuda.host_memory_stats()["allocated_bytes.current"] >> 20
print(pinned, torch.cuda.memory_stats()["reserved_bytes.all.peak"] >> 20)
