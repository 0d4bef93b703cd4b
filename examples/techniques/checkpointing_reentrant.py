"""The older, reentrant kind of checkpointing: a backward pass inside the backward pass.

Group: recompute and move
Claim: tutorials say that it saves the same, and that the other kind should be preferred.
Do: Use use_reentrant=False: the same memory, and it works with inputs that need no gradient.
Note: The inner graph is made and gone within one layer, as with the other kind; the difference is
in what is supported, not in bytes.
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
