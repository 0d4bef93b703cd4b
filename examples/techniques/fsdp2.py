"""FSDP2: parameters, gradients and optimizer state are divided between two GPUs.

Group: many devices
Claim: the documentation says that the memory of a rank decreases with the number of ranks.
Card: count=2
Ranks: 2
Do: Shard layer by layer, then the whole model: the parameters of a layer are assembled only while
it runs. Activations are not divided.
Note: There is one trace per rank: rank 0 and rank 1 hold nearly the same memory.
"""

from ranks import each_rank
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from workload import LanguageModel, main, train

WIDTH = 576


@each_rank
def before() -> None:
    model = LanguageModel(WIDTH).to("cuda")
    train(DistributedDataParallel(model, gradient_as_bucket_view=True), batch=1, steps=2)


@each_rank
def after() -> None:
    model = LanguageModel(WIDTH).to("cuda")
    for layer in model.blocks:
        fully_shard(layer)
    train(fully_shard(model), batch=1, steps=2)


if __name__ == "__main__":
    main(before=before, after=after)
