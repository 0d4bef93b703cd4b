"""vLLM generates in this process, without a process for its engine. `graphs`: compiled, in pieces
that are captured as graphs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ["VLLM_NO_USAGE_STATS"] = "1"
os.environ["VLLM_USE_FLASHINFER_SAMPLER"] = "0"  # it would be compiled first, for minutes

from tell import parameters_of, size_of, tell_client
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


def ways() -> dict[str, object]:
    if "graphs" not in sys.argv[1:]:
        return {"enforce_eager": True}
    wanted = {"cudagraph_mode": "PIECEWISE", "cudagraph_capture_sizes": [1, 2, 4]}
    return {"compilation_config": wanted}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(SHAPE))
        engine = LLM(
            folder,
            load_format="dummy",
            skip_tokenizer_init=True,
            max_model_len=256,
            max_num_seqs=4,
            gpu_memory_utilization=0.05,
            **ways(),
        )
    wanted = SamplingParams(max_tokens=WORDS, min_tokens=WORDS, detokenize=False, temperature=0)
    answers = engine.generate([{"prompt_token_ids": PROMPT} for _ in range(3)], wanted)
    runner = engine.llm_engine.model_executor.driver_worker.worker.model_runner
    tell_client(
        # Its kernels of attention are machine code, which is not computed: words mean nothing.
        end=[len(answer.outputs[0].token_ids) for answer in answers],
        iterations=WORDS,
        parameters=parameters_of(runner.model),
        caches=size_of(runner.kv_caches),
    )


main()
