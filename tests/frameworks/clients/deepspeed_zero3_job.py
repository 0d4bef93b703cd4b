"""Trains with DeepSpeed and sharded optimizer state, gradients and weights: ZeRO-3."""

from zero import go

go(stage=3)
