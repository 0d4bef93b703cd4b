"""Trains with DeepSpeed and sharded optimizer state and gradients: ZeRO-2."""

from zero import go

go(stage=2)
