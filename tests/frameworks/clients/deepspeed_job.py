"""DeepSpeed with the optimizer's state in shares: ZeRO-1."""

from zero import go

go(stage=1)
