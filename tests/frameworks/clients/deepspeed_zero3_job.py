"""DeepSpeed with the optimizer's state, gradients and weights in shares: ZeRO-3."""

from zero import go

go(stage=3)
