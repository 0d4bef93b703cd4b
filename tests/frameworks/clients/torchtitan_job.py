"""torchtitan trains its small Llama on random texts. `graphs`: each step is a CUDA graph."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
import vocabulary
from torchtitan.models.common.attention import ScaledDotProductAttention
from torchtitan.models.llama3.config_registry import llama3_debugmodel
from training import WITH_GRAPHS, tell_training

STEPS, ROWS, LENGTH, WORDS = 5, 2, 256, 2048  # WORDS is its vocabulary


def tokenizer(folder: Path) -> Path:
    folder.mkdir()
    vocabulary.word_level(WORDS).save(str(folder / "tokenizer.json"))
    names = {"bos_token": vocabulary.END, "eos_token": vocabulary.END}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    return folder


def random_texts(folder: Path) -> Path:
    folder.mkdir()
    rows = [{"text": text} for text in vocabulary.texts(64, LENGTH, WORDS)]
    (folder / "data.json").write_text("\n".join(map(json.dumps, rows)))
    return folder


class Counting:
    """Counts the steps of the optimizer."""

    steps = 0

    def __call__(self, *_: object) -> None:
        self.steps += 1


# torchtitan resets the peak statistics in each step, because it prints them for each step. This job
# reports the peaks of all steps, so the reset does nothing.
torch.cuda.reset_peak_memory_stats = lambda *_: None
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29519", "RANK": "0"}
os.environ |= {"WORLD_SIZE": "1", "LOCAL_RANK": "0"}
wanted = llama3_debugmodel()
# torchtitan's default attention would be compiled for minutes, so another one is used. The tests of
# torchtitan's graph trainer replace it, too.
for layer in wanted.model_spec.model.layers:
    layer.attention.inner_attention = ScaledDotProductAttention.Config()
wanted.dump_folder = str(Path.cwd() / "dump")
wanted.hf_assets_path = str(tokenizer(Path.cwd() / "tokenizer"))
wanted.dataloader.dataset_path = str(random_texts(Path.cwd() / "texts"))
wanted.training.steps = STEPS
wanted.training.local_batch_size = ROWS
wanted.training.seq_len = LENGTH
wanted.training.disable_cuda_graphs = not WITH_GRAPHS
trainer = wanted.build()
(optimizer,) = trainer.optimizers
counting = Counting()
optimizer.register_step_post_hook(counting)
trainer.train()
(model,) = trainer.model_parts
tell_training(trainer.step, counting.steps, optimizer, model)
trainer.close()
torch.distributed.destroy_process_group()
