"""vLLM generates, sleeps, wakes up and generates again. With `graphs` the model is compiled, in
pieces that are captured as graphs."""

from __future__ import annotations

import os

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

import torch
from serving import WORDS, engine_of, generate, tell_serving


def free_bytes() -> int:
    return torch.cuda.mem_get_info()[0]


engine = engine_of(enable_sleep_mode=True)
lengths = [generate(engine)]
awake = free_bytes()
engine.sleep(level=1)
asleep = free_bytes()
engine.wake_up()
lengths.append(generate(engine))
is_freed = asleep - awake > 1 << 30  # cache and weights are freed
tell_serving(engine, [lengths, is_freed], 2 * WORDS)
