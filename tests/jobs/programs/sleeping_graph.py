"""Pauses the memory of a CUDA graph, and launches the graph again at the same addresses."""

from __future__ import annotations

import torch
import vramstow

MIB = 1 << 20


def main() -> None:
    torch.cuda.init()
    with vramstow.region("engine"):
        inputs = torch.full((8 * MIB,), 3.0, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kept = inputs * 2
            outputs = kept + 1
    graph.replay()
    torch.cuda.synchronize()
    addresses = [tensor.data_ptr() for tensor in (inputs, kept, outputs)]
    free = torch.cuda.mem_get_info()[0]
    try:
        vramstow.pause("engine")
    except vramstow.OffloadError as error:
        print(error, flush=True)
    vramstow.resume("engine")
    for _ in range(2):
        assert vramstow.pause("engine", graphs=True)
        assert torch.cuda.mem_get_info()[0] >= free + 96 * MIB
        try:
            graph.replay()
        except RuntimeError as error:
            print(str(error).splitlines()[0], flush=True)
        assert float(torch.ones(4, device="cuda").sum()) == 4.0, "the context is as good as before"
        assert vramstow.resume("engine")
        assert addresses == [tensor.data_ptr() for tensor in (inputs, kept, outputs)]
        assert float(inputs[-1]) == 3.0
        inputs.add_(1).sub_(1)
        graph.replay()
        torch.cuda.synchronize()
    del graph, kept, outputs
    torch.cuda.empty_cache()
    stats = vramstow.stats()
    assert stats is not None
    assert stats.paused_bytes == 0 and stats.offload_host_bytes == 0, stats


main()
