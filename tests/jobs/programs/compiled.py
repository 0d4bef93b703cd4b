"""Train a compiled model, with or without graphs.

python compiled.py --mode reduce-overhead
"""

import argparse

import torch
import torch._inductor.cudagraph_trees
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    """A model that is large enough for a few fused kernels and two matrix products."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.second = nn.Linear(width, 8)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.second(functional.gelu(self.norm(self.first(batch))) + 1)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", default="default", help="as torch.compile's")
    parser.add_argument("--steps", type=int, default=4, help="how many batches to train on")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    model = Model(128).cuda()
    compiled = torch.compile(model, mode=arguments.mode)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, arguments.steps + 1):
        torch.compiler.cudagraph_mark_step_begin()
        loss = compiled(torch.randn(32, 128, device="cuda")).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        print(f"step {step}: {tuple(loss.shape)}", flush=True)
    # The counter of PyTorch's graph trees; None if no graph was made.
    trees = torch._inductor.cudagraph_trees.get_container(0).tree_manager
    print(f"graphs: {trees is not None and trees.new_graph_id().id > 0}", flush=True)


if __name__ == "__main__":
    main()
