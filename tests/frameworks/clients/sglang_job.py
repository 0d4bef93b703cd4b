"""SGLang's model runner answers in this process. With `graphs` the words after the first come from
CUDA graphs."""

from __future__ import annotations

import os
import sys

os.environ["SGLANG_FORCE_FUSED_OP_BACKEND"] = "torch"  # otherwise norms use another runtime

import torch
from sglang.benchmark import one_batch
from sglang.srt.runtime_context import SpawnRanks, publish
from sglang.srt.server_args import PortArgs, ServerArgs
from tell import parameters_of, size_of, tell_client
from words import llama, tokenizer

WORDS, ROWS = 8, 3
PROMPTS = [list(range(3, 20))] * ROWS

llama(num_hidden_layers=10).save_pretrained("llama")
tokenizer().save_pretrained("llama")
way = {"backend": "full", "max_bs": ROWS} if "graphs" in sys.argv[1:] else {"backend": "disabled"}
wanted = ServerArgs(
    model_path="llama",
    dtype="bfloat16",
    attention_backend="triton",
    sampling_backend="pytorch",
    max_total_tokens=4096,
    max_running_requests=ROWS + 1,
    context_length=256,
    cuda_graph_config={"decode": way, "prefill": {"backend": "disabled"}},
)
wanted.resolve_once()
publish(wanted, role="scheduler", ranks=SpawnRanks(world_rank=0, gpu_id=0))
one_batch._init_process_global_configs()
runner, _ = one_batch.load_model(wanted, PortArgs.init_new(wanted), 0, 0)
requests = one_batch.prepare_synthetic_inputs_for_latency_test(ROWS, 0, PROMPTS)
words, _, batch = runner.extend(requests)
answers = [words.tolist()]
for _ in range(WORDS - 1):
    words, _ = runner.decode(words, batch)
    answers.append(words.tolist())
model = runner.torch_runner
cache = model.token_to_kv_pool
tell_client(
    end=[len(answer) for answer in answers],
    iterations=WORDS,
    parameters=parameters_of(model.model),
    caches=size_of([*cache.k_buffer, *cache.v_buffer]),
)
torch.distributed.destroy_process_group()
