"""Copy on one stream what another one reads, with record_stream; the data must be right."""

import torch

COUNT = 1 << 16


def main() -> None:
    compute, copy = torch.cuda.Stream(), torch.cuda.Stream()
    results, expected = [], []
    for step in range(1, 9):
        source = torch.full((COUNT,), step, dtype=torch.int32).pin_memory()
        with torch.cuda.stream(copy):
            batch = source.to("cuda", non_blocking=True)
        compute.wait_stream(copy)
        with torch.cuda.stream(compute):
            torch.cuda._sleep(100_000)
            result = torch.empty_like(batch)
            result.copy_(batch)
            batch.record_stream(compute)
        # The block is freed here although the copy above may not have begun: the next batch must
        # not reuse it.
        del batch
        results.append(result)
        expected.append(step)
        print(f"step {step}: submitted", flush=True)
    torch.cuda.synchronize()
    for step, (result, value) in enumerate(zip(results, expected, strict=True), 1):
        seen = result.cpu().unique().tolist()
        assert seen == [value], f"step {step}: {seen}"


if __name__ == "__main__":
    main()
