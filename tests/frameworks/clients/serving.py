"""Serves a small model of random weights with vLLM, and reports the state of its worker.

vLLM may import this module in the process of its engine, so an import runs nothing.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["VLLM_NO_USAGE_STATS"] = "1"
os.environ["VLLM_USE_FLASHINFER_SAMPLER"] = "0"  # compiling it takes minutes

import torch
from tell import parameters_of, size_of
from vllm import LLM, SamplingParams

SHAPE = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 1024,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "torch_dtype": "bfloat16",
}
WORDS = 8
PROMPT = list(range(3, 20))


class Telling:
    """Additional methods of a worker."""

    def tell(self) -> dict[str, Any]:
        return {
            "peak_allocated": torch.cuda.max_memory_allocated(),
            "peak_reserved": torch.cuda.max_memory_reserved(),
            "parameters": parameters_of(self.model_runner.model),
            "caches": size_of(self.model_runner.kv_caches),
        }


def _ways() -> dict[str, object]:
    """Returns the options of the engine; with `graphs` the model is compiled, in pieces that are
    captured as graphs."""
    if "graphs" not in sys.argv[1:]:
        return {"enforce_eager": True}
    wanted = {"cudagraph_mode": "PIECEWISE", "cudagraph_capture_sizes": [1, 2, 4]}
    return {"compilation_config": wanted}


def engine_of(**more: object) -> LLM:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(SHAPE))
        return LLM(
            folder,
            load_format="dummy",
            skip_tokenizer_init=True,
            max_model_len=256,
            max_num_seqs=4,
            gpu_memory_utilization=0.05,
            worker_extension_cls="serving.Telling",
            **_ways(),
            **more,
        )


def generate(engine: LLM) -> list[int]:
    """Returns the lengths of answers. The words mean nothing, because the attention kernels are
    machine code, which the simulator does not compute."""
    wanted = SamplingParams(max_tokens=WORDS, min_tokens=WORDS, detokenize=False, temperature=0)
    answers = engine.generate([{"prompt_token_ids": PROMPT} for _ in range(3)], wanted)
    return [len(answer.outputs[0].token_ids) for answer in answers]


def tell_serving(engine: LLM, end: object, iterations: int) -> None:
    (told,) = engine.collective_rpc("tell")
    print(json.dumps({"end": end, "iterations": iterations} | told), flush=True)
