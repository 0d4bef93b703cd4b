"""Prints PyTorch's results with a driver but without a GPU."""

import torch

QUESTIONS = (
    torch.cuda.device_count,
    torch.cuda.is_available,
    torch.cuda.init,
    lambda: torch.zeros(1, device="cuda"),
    torch.cuda.mem_get_info,
    lambda: torch.cuda.memory_allocated(0),
    lambda: torch.cuda.CUDAGraph(),
)

for question in QUESTIONS:
    try:
        print(question())
    except Exception as error:
        print(type(error).__name__, error)
