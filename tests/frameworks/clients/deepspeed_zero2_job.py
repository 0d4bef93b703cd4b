"""DeepSpeed with the optimizer's state and gradients in shares: ZeRO-2."""

from zero import go

go(stage=2)
