"""TorchRec trains a recommendation model, whose embedding tables are updated in the backward pass,
by kernels of fbgemm_gpu. With `graphs` its dense part then answers from a graph."""

from __future__ import annotations

import os
import sys

os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29519", "RANK": "0"}
os.environ |= {"WORLD_SIZE": "1", "LOCAL_RANK": "0"}

import torch
import torchrec
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    SplitTableBatchedEmbeddingBagsCodegen as Tables,
)
from tell import captured, parameters_of, size_of, state_of, tell_client
from torchrec.distributed import DistributedModelParallel
from torchrec.models.dlrm import DLRM, DLRMTrain
from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

STEPS, ROWS, WIDTH, TABLES, WORDS, DENSE, LENGTH = 5, 64, 64, 3, 20_000, 13, 4
KEYS = [f"key_{number}" for number in range(TABLES)]


def recommender() -> DLRMTrain:
    collection = torchrec.EmbeddingBagCollection(
        device=torch.device("meta"),
        tables=[
            torchrec.EmbeddingBagConfig(
                name=f"table_{key}", embedding_dim=WIDTH, num_embeddings=WORDS, feature_names=[key]
            )
            for key in KEYS
        ],
    )
    apply_optimizer_in_backward(torch.optim.Adam, collection.parameters(), {"lr": 0.01})
    layers = ([1024, WIDTH], [1024, 1])
    return DLRMTrain(DLRM(collection, DENSE, *layers, dense_device=torch.device("cuda")))


class Batch:
    """A batch in the form that DLRMTrain accepts."""

    def __init__(self) -> None:
        words = torchrec.KeyedJaggedTensor.from_lengths_sync(
            keys=KEYS,
            values=torch.randint(WORDS, (ROWS * TABLES * LENGTH,)),
            lengths=torch.full((ROWS * TABLES,), LENGTH, dtype=torch.int32),
        )
        self.dense_features = torch.rand(ROWS, DENSE).cuda()
        self.sparse_features = words.to(torch.device("cuda"))
        self.labels = torch.randint(2, (ROWS,)).float().cuda()


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[bool]:
    finite = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss, _ = model(Batch())
        loss.backward()
        optimizer.step()
        finite.append(bool(torch.isfinite(loss)))
    return finite


torch.manual_seed(1)
torch.distributed.init_process_group("nccl")
model = DistributedModelParallel(recommender(), device=torch.device("cuda:0"))
dense = [weight for name, weight in model.named_parameters() if "embedding_bags" not in name]
optimizer = torch.optim.AdamW(dense)
finite = train(model, optimizer)
if "graphs" in sys.argv[1:]:
    wide = torch.rand(ROWS, DENSE, device="cuda")
    layers = model.module.model.dense_arch
    assert captured(lambda: layers(wide)) == [ROWS, WIDTH]
sharded = [part for part in model.modules() if hasattr(part, "_lookups")]
lookups = [lookup for part in sharded for lookup in part._lookups]  # a list hides them
(table,) = [part for one in lookups for part in one.modules() if isinstance(part, Tables)]
learned = size_of([table.momentum1_dev, table.momentum2_dev])  # these are buffers of the table
tell_client(
    end=finite,
    iterations=STEPS,
    parameters=size_of(dense) + parameters_of(table) - learned,
    optimizer_state=state_of(optimizer) + learned,
)
torch.distributed.destroy_process_group()
