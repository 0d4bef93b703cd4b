"""The older, reentrant kind of checkpointing: a backward pass inside the backward pass.

Group: recompute and move
Claim: tutorials say that it saves the same memory, and that the other kind should be preferred.
Do: Use use_reentrant=False: it needs the same memory, and it works with inputs that need no
gradient.
Note: The inner autograd graph is created and freed within one layer, as with the other kind. The
kinds differ in the features that they support, not in memory.
"""

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from workload import LanguageModel, main, train


def again_in_backward(layer: nn.Module, x: Tensor) -> Tensor:
    return checkpoint(layer, x, use_reentrant=True)


def before() -> None:
    train(LanguageModel().to("cuda"))


def after() -> None:
    train(LanguageModel(each=again_in_backward).to("cuda"))


if __name__ == "__main__":
    main(before=before, after=after)
