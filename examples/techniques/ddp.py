"""DistributedDataParallel on two GPUs: gradients are views of the buckets, not additional tensors.

Group: many devices
Claim: the documentation says that gradient_as_bucket_view saves the memory of the gradients.
Card: count=2
Ranks: 2
Do: Pass gradient_as_bucket_view=True. DDP itself saves nothing: each rank has all parameters,
gradients and optimizer state, and the buckets in addition.
Note: DDP keeps its buckets all the time; they are as large as the gradients. The saving is visible
when gradients are live as well, in this script in the optimizer's step. There is one trace per
rank; both hold the same memory.
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
