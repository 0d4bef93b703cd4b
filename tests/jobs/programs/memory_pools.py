"""Uses MemPools beside PyTorch's default pool, also in a capture, and frees their memory."""

import gc

import torch


def reserved() -> int:
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return torch.cuda.memory_reserved()


def main() -> None:
    ordinary = torch.ones(1 << 20, device="cuda")
    before = reserved()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = [torch.ones(1 << 20, device="cuda") for _ in range(8)]
        assert len(pool.snapshot()) > 0
    outside = torch.ones(1 << 20, device="cuda")
    grown = reserved()
    assert grown >= before + 8 * (4 << 20), (before, grown)
    print("step 1: eight blocks in a pool", flush=True)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool.id):
        result = inside[0] + outside
    graph.replay()
    torch.cuda.synchronize()
    print("step 2: a graph in the pool", flush=True)

    del inside, result, outside, graph, pool
    after = reserved()
    assert after == before, (before, after)
    print(f"step 3: all given back, {ordinary.numel()} elements stay", flush=True)


if __name__ == "__main__":
    main()
