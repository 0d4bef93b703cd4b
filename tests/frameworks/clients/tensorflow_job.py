"""TensorFlow trains a small network in a part of the GPU's memory that it allocates at once. With
`graphs` XLA compiles the step, and launches it as CUDA graphs."""

from __future__ import annotations

import json
import os
import sys

os.environ["XLA_FLAGS"] = (
    "--xla_gpu_autotune_level=0 --xla_gpu_graph_min_graph_size=1 "
    "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL"
)

import tensorflow as tf

STEPS, ROWS, WIDTH, PART_MIB = 5, 256, 1024, 1024
WITH_GRAPHS = "graphs" in sys.argv[1:]

(card,) = tf.config.list_physical_devices("GPU")
part = tf.config.LogicalDeviceConfiguration(memory_limit=PART_MIB)
tf.config.set_logical_device_configuration(card, [part])
layers = [tf.keras.layers.Dense(4 * WIDTH, activation="relu"), tf.keras.layers.Dense(WIDTH)]
model = tf.keras.Sequential(layers)
model.build((None, WIDTH))
optimizer = tf.keras.optimizers.Adam(0.001)
optimizer.build(model.trainable_variables)


@tf.function(jit_compile=WITH_GRAPHS)
def step(rows: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(rows)))
    slopes = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(slopes, model.trainable_variables, strict=True))
    return loss


for _ in range(STEPS):
    step(tf.random.normal((ROWS, WIDTH))).numpy()
told = {
    "end": [STEPS, model.count_params()],
    "library": "libtensorflow_framework.so.2",
    "peak_allocated": PART_MIB << 20,
    "peak_reserved": PART_MIB << 20,
    "iterations": STEPS,
}
print(json.dumps(told), flush=True)
