"""Trains with DeepSpeed and a sharded optimizer state: ZeRO-1."""

from zero import go

go(stage=1)
