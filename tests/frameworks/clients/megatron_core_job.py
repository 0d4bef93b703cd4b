"""Megatron-core trains a small GPT in one process, with its optimizer that shards the state. With
`graphs` its last layer then answers from a graph."""

from __future__ import annotations

import functools
import os

os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29521", "RANK": "0"}
os.environ |= {"WORLD_SIZE": "1", "LOCAL_RANK": "0"}

import torch
from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig
from tell import captured, parameters_of, size_of, state_of, tell_client
from training import WITH_GRAPHS

STEPS, ROWS, LENGTH, WIDTH, LAYERS, WORDS = 5, 4, 64, 512, 4, 2048


def small_gpt() -> GPTModel:
    wanted = TransformerConfig(
        num_layers=LAYERS,
        hidden_size=WIDTH,
        num_attention_heads=8,
        bf16=True,
        params_dtype=torch.bfloat16,
        pipeline_dtype=torch.bfloat16,
        gradient_accumulation_fusion=False,
    )
    layer = get_gpt_layer_local_spec()
    return GPTModel(wanted, layer, vocab_size=WORDS, max_sequence_length=LENGTH).cuda().bfloat16()


def in_shares(model: GPTModel) -> DistributedDataParallel:
    wanted = DistributedDataParallelConfig(
        grad_reduce_in_fp32=True, use_distributed_optimizer=True, overlap_grad_reduce=False
    )
    return DistributedDataParallel(model.config, wanted, model)


def forward(_: object, model: torch.nn.Module) -> tuple[torch.Tensor, functools.partial]:
    words = torch.randint(WORDS, (ROWS, LENGTH)).cuda()
    places = torch.arange(LENGTH).expand(ROWS, -1).cuda()
    later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)[None, None].cuda()
    return model(words, places, later, labels=words), functools.partial(loss_of)


def loss_of(losses: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    loss = losses.float().mean()
    return loss, {"loss": loss.detach()}


def train(model: DistributedDataParallel, optimizer: object) -> list[bool]:
    run = get_forward_backward_func()
    finite = []
    for _ in range(STEPS):
        model.zero_grad_buffer()
        optimizer.zero_grad()
        (told,) = run(
            forward_step_func=forward,
            data_iterator=None,
            model=model,
            num_microbatches=1,
            seq_length=LENGTH,
            micro_batch_size=ROWS,
            forward_only=False,
        )
        finalize_model_grads([model])
        optimizer.step()
        finite.append(bool(torch.isfinite(told["loss"])))
    return finite


torch.distributed.init_process_group("nccl")
parallel_state.initialize_model_parallel()
model_parallel_cuda_manual_seed(1)
model = in_shares(small_gpt())
wanted = OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, use_distributed_optimizer=True)
optimizer = get_megatron_optimizer(wanted, [model])
finite = train(model, optimizer)
if WITH_GRAPHS:
    wide = torch.rand(LENGTH, ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
    head = model.module.output_layer
    assert captured(lambda: head(wide)[0]) == [LENGTH, ROWS, WORDS]
shares = optimizer.chained_optimizers
masters = [
    one for share in shares for group in share.shard_fp32_from_float16_groups for one in group
]
tell_client(
    end=finite,
    iterations=STEPS,
    parameters=parameters_of(model.module),  # its wrapper has another `buffers`
    optimizer_state=sum(state_of(share.optimizer) for share in shares) + size_of(masters),
)
torch.distributed.destroy_process_group()
