"""The largest batch that fits: found by trying until memory runs out, or by `vramstow fit`.

Group: size
Claim: a smaller batch, ViT-L, 13.82 → 5.69 GB; tutorials search by catching out-of-memory errors.
Card: memory=1GiB
Do: vramstow fit --simulate=h200,memory=1GiB -- python examples/techniques/batch_size.py after
--batch {batch} finds the largest batch without a card (docs/fit.md says how).
Note: Doubling finds a power of two, which is seldom the largest batch that fits. After a failed
try, the memory that it requested stays reserved. The figures of `before` are those of the search.
"""

import torch
from workload import LanguageModel, arguments, main, train


def before() -> None:
    """Doubles the batch until it is too large, then goes on with the last that was not."""
    batch = 1
    while True:
        try:
            train(LanguageModel().to("cuda"), batch=2 * batch, steps=1)
        except torch.OutOfMemoryError:
            break
        batch *= 2
    print(f"by trying: {batch}")
    train(LanguageModel().to("cuda"), batch=batch)


def after() -> None:
    train(LanguageModel().to("cuda"), batch=arguments().batch)


if __name__ == "__main__":
    main(before=before, after=after)
