"""Capture graphs whose memory is freed outside of them, and replay them.

python async_graph.py --steps 3
"""

import argparse

import torch


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3, help="how many graphs to capture")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    weights = torch.full((256, 256), 0.5, device="cuda")
    for step in range(1, arguments.steps + 1):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            # The first tensor is allocated and freed in the capture, the second outlives it.
            scratch = weights + step
            result = scratch * 2
            del scratch
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        copy = result.clone()
        # `result` belongs to the capture's stream, which is not ordered after the copy on this
        # stream. So the program waits for the copy before it frees `result`.
        torch.cuda.synchronize()
        if step % 2:
            del result
            graph.reset()
        else:
            graph.reset()
            del result
        torch.cuda.empty_cache()
        print(f"step {step}: {tuple(copy.shape)}, {torch.cuda.memory_allocated()} B", flush=True)
    del copy, weights
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    # Some releases of PyTorch retain the state of the random number generator that graphs use.
    left = torch.cuda.memory_allocated()
    print(f"at the end {'nothing' if left <= 1024 else left} is left", flush=True)


if __name__ == "__main__":
    main()
