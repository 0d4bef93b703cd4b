"""DistributedDataParallel on two cards: gradients as views of the buckets, not beside them.

Group: many devices
Claim: documentation says that gradient_as_bucket_view saves as much as the gradients take.
Card: count=2
Ranks: 2
Do: Pass gradient_as_bucket_view=True. DDP itself saves nothing: each rank has all parameters,
gradients and optimizer state, and the buckets on top.
Note: DDP keeps its buckets all the time, as large as the gradients. The saving is seen where
gradients are there as well, here in the optimizer's step. One trace per rank; both hold the same.
"""

from ranks import each_rank
from torch.nn.parallel import DistributedDataParallel
from workload import LanguageModel, main, train

WIDTH = 576


@each_rank
def before() -> None:
    train(DistributedDataParallel(LanguageModel(WIDTH).to("cuda")), batch=1, steps=2)


@each_rank
def after() -> None:
    model = LanguageModel(WIDTH).to("cuda")
    train(DistributedDataParallel(model, gradient_as_bucket_view=True), batch=1, steps=2)


if __name__ == "__main__":
    main(before=before, after=after)
