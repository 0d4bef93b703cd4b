"""JAX trains a small network; XLA allocates memory on demand. With `graphs` its compiled functions
are launched as CUDA graphs."""

from __future__ import annotations

import json
import os
import sys

# By default XLA makes graphs only of five kernels or more.
os.environ["XLA_FLAGS"] = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_enable_command_buffer=" + (
    "FUSION,CUBLAS,CUDNN,CUSTOM_CALL" if "graphs" in sys.argv[1:] else ""
)
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # otherwise it allocates 3/4 at once

import jax
import jax.numpy as jnp

STEPS, ROWS, WIDTH, LAYERS = 5, 256, 1024, 3

Weights = list[tuple[jax.Array, jax.Array]]


def loss_of(weights: Weights, rows: jax.Array) -> jax.Array:
    for up, down in weights:
        rows = rows + jax.nn.relu(rows @ up) @ down
    return (rows * rows).mean()


@jax.jit
def step(weights: Weights, rows: jax.Array) -> Weights:
    slopes = jax.grad(loss_of)(weights, rows)
    return jax.tree.map(lambda weight, slope: weight - 0.01 * slope, weights, slopes)


(card,) = jax.devices("cuda")
ones = (jnp.ones((WIDTH, 4 * WIDTH)), jnp.ones((4 * WIDTH, WIDTH)))
weights: Weights = [ones] * LAYERS
for number in range(STEPS):
    rows = jax.random.normal(jax.random.key(number), (ROWS, WIDTH))
    weights = step(weights, rows)
jax.block_until_ready(weights)
taken = card.memory_stats()["peak_pool_bytes"]
told = {
    "end": [list(one.shape) for pair in weights for one in pair],
    "library": "xla_cuda_plugin.so",
    "peak_allocated": taken,
    "peak_reserved": taken,
    "iterations": STEPS,
}
print(json.dumps(told), flush=True)
