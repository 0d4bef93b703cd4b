"""vLLM generates in this process, without a process for its engine. With `graphs` the model is
compiled, in pieces that are captured as graphs."""

from __future__ import annotations

import os

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

from serving import WORDS, engine_of, generate, tell_serving

engine = engine_of()
tell_serving(engine, generate(engine), WORDS)
