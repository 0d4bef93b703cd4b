"""Trains on two GPUs alternately: a tensor is copied to the other GPU, its gradient back."""

import torch


def main() -> None:
    torch.manual_seed(1)
    first = torch.nn.Linear(64, 64).to("cuda:0")
    second = torch.nn.Linear(64, 64).to("cuda:1")
    for _ in range(3):
        out = second(first(torch.ones(8, 64, device="cuda:0")).to("cuda:1"))
        out.sum().backward()
    assert first.weight.grad is not None
    torch.cuda.synchronize()
    print("done")


if __name__ == "__main__":
    main()
