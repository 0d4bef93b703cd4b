"""Loads a model with the package and in the way that the arguments name; prints its bytes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator

import torch
from torch import nn
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

KIND = sys.argv[1]
FOLDER = tempfile.mkdtemp()


def random_model() -> nn.Module:
    return LlamaForCausalLM(
        LlamaConfig(
            hidden_size=256,
            intermediate_size=512,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            vocab_size=4000,
        )
    )


def pretrained(**options: object) -> nn.Module:
    random_model().save_pretrained(FOLDER)
    return AutoModelForCausalLM.from_pretrained(FOLDER, **options)


def in_four_bits() -> nn.Module:
    from transformers import BitsAndBytesConfig

    config = BitsAndBytesConfig(load_in_4bit=True)
    return pretrained(device_map="cuda", quantization_config=config)


def with_adapters() -> nn.Module:
    from peft import LoraConfig, get_peft_model

    return get_peft_model(random_model().cuda(), LoraConfig(r=8, target_modules=["q_proj"]))


def from_file_into_empty() -> nn.Module:
    from safetensors.torch import load_file, save_file

    saved = random_model()
    file = f"{FOLDER}/weights.safetensors"
    save_file({name: tensor.clone() for name, tensor in saved.state_dict().items()}, file)
    with torch.device("meta"):
        model = random_model()
    model.to_empty(device="cuda")
    model.load_state_dict(load_file(file, device="cuda"), assign=True)
    return model


def in_integers() -> nn.Module:
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model = random_model().cuda().bfloat16()
    quantize_(model, Int8WeightOnlyConfig())
    return model


WAYS = {
    "transformers": lambda: pretrained().cuda(),
    "accelerate": lambda: pretrained(device_map="cuda"),
    "bitsandbytes": in_four_bits,
    "peft": with_adapters,
    "safetensors": from_file_into_empty,
    "torchao": in_integers,
}


def parts(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    if hasattr(type(tensor), "__tensor_flatten__"):
        for name in tensor.__tensor_flatten__()[0]:
            yield from parts(getattr(tensor, name))
        return
    yield tensor
    absmax = getattr(getattr(tensor, "quant_state", None), "absmax", None)
    if absmax is not None:
        yield absmax


model = WAYS[KIND]()
with torch.no_grad():
    model(input_ids=torch.randint(0, 4000, (2, 64)).cuda())
held = [part for one in [*model.parameters(), *model.buffers()] for part in parts(one)]
memory = [part.untyped_storage() for part in held if part.is_cuda]
print(sum({one.data_ptr(): one.nbytes() for one in memory}.values()))
