"""FSDP2: parameters, gradients and optimizer state are shared out over two cards.

Group: many devices
Claim: documentation says that what a rank holds falls with the number of ranks.
Card: count=2
Ranks: 2
Do: Shard layer by layer, then the whole: a layer's parameters are put together only while it
runs. Activations are not shared out.
Note: One trace per rank: rank 0 and rank 1 hold nearly the same.
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
