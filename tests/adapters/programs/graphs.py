"""Private pools: graphs that share one, MemPool, graphed callables, history, limits."""

import gc

import torch


def replay() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    model = model.cuda()
    batch = torch.zeros(16, 64, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        model(batch)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        result = model(batch)
    for value in range(3):
        batch.fill_(float(value))
        graph.replay()
        print("replayed", round(float(result.sum()), 3))
    second = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(second, pool=graph.pool()):
        doubled = result * 2
    torch.cuda.empty_cache()
    junk = [torch.full((1 << 20,), 7.0, device="cuda") for _ in range(8)]
    graph.replay()
    second.replay()
    print("shared", round(float(doubled.sum()), 3), len(junk))


def pools() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = torch.ones(1 << 20, device="cuda")
    outside = torch.ones(1 << 20, device="cuda")
    if hasattr(pool, "snapshot"):  # from release 2.6 on
        inside_bytes = sum(part["allocated_size"] for part in pool.snapshot())
        print("in the pool", inside_bytes, pool.use_count())
    del inside, pool
    print("sum", float(outside.sum()))


def callables() -> None:
    layer = torch.nn.Linear(8, 8).cuda()
    graphed = torch.cuda.make_graphed_callables(layer, (torch.randn(4, 8, device="cuda"),))
    for _ in range(2):
        graphed(torch.ones(4, 8, device="cuda")).sum().backward()
    print("gradient", layer.weight.grad is not None)


def limits() -> None:
    torch.cuda.set_per_process_memory_fraction(0.01)
    try:
        torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        print("refused")
    torch.cuda.set_per_process_memory_fraction(1.0)
    print("granted", torch.empty(3 << 30, dtype=torch.uint8, device="cuda").numel())


def main() -> None:
    replay()
    if hasattr(torch.cuda, "MemPool"):  # since 2.5
        pools()
    callables()
    limits()
    gc.collect()
    torch.cuda.empty_cache()
    print("left", torch.cuda.memory_stats()["allocation.all.current"])


if __name__ == "__main__":
    main()
