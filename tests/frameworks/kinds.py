"""The jobs, and what is known about each before anything is analysed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

JOBS = Path(__file__).parent / "jobs"


@dataclass(frozen=True)
class Kind:
    """`packages`: the packages that it needs besides PyTorch. `trains`: its iterations are steps of
    an optimizer or, without one (`by`), backward passes; otherwise they are calls of a model.
    `place`, `module`: parts of the names of a call site and of a module that the report must
    contain."""

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    trains: bool = True
    by: str = "optimizer_steps"
    place: str = "LlamaMLP.forward"
    module: str = "model.layers.*.mlp.gate_proj (4x)"

    @property
    def is_short(self) -> bool:
        return not self.packages and self.script != "compiled.py"


_HUGGING = ("transformers", "accelerate")

EVERY = (
    Kind("plain", "plain.py", place="plain.py:24 train", module="Sequential.2"),
    Kind("adversarial", "adversarial.py", place="adversarial.py:54 train", module="Sequential.2"),
    Kind(
        "language",
        "language.py",
        by="backward_passes",
        place="language.py:31 Language.forward",
        module="Language.decoder",
    ),
    Kind(
        "layers_in_turn",
        "layers_in_turn.py",
        place="layers_in_turn.py:23 Layer.forward",
        module="Layer",
    ),
    Kind("trainer", "trainer.py", (), _HUGGING),
    Kind("trainer_that_evaluates", "trainer.py", ("evaluation", "checkpointing"), _HUGGING),
    Kind("trainer_that_accumulates", "trainer.py", ("accumulation",), _HUGGING),
    Kind("generate_dynamic", "generate.py", ("dynamic",), _HUGGING, trains=False),
    Kind("generate_static", "generate.py", ("static",), _HUGGING, trains=False),
    Kind("lora", "lora.py", (), ("transformers", "peft"), place="lora.py:19 train"),
    Kind("accelerate", "accelerated.py", (), _HUGGING, place="accelerated.py:21 <module>"),
    Kind("dispatched", "dispatched.py", (), _HUGGING, trains=False),
    Kind(
        "lightning",
        "lightning_fit.py",
        (),
        ("lightning",),
        place="lightning_fit.py:28 Digits.training_step",
        module="Sequential.2",
    ),
    Kind(
        "diffusion",
        "diffusion.py",
        (),
        ("diffusers",),
        place="diffusion.py:24 <module>",
        module="UNet2DModel.down_blocks.*.resnets.*.conv1",
    ),
    Kind(
        "vision",
        "vision.py",
        (),
        ("timm",),
        place="vision.py:17 train",
        module="VisionTransformer.blocks.*.mlp.fc1 (12x)",
    ),
    Kind(
        "translation",
        "translation.py",
        (),
        ("transformers",),
        place="translation.py:20 <module>",
        module="encoder.block.*.layer.*.SelfAttention.q (4x)",
    ),
    Kind(
        "experts",
        "experts.py",
        (),
        ("transformers",),
        place="experts.py:20 <module>",
        module="model.layers.*.mlp",
    ),
    Kind("compiled", "compiled.py", place="compiled.py:28 <module>", module="OptimizedModule"),
    Kind(
        "embeddings",
        "embeddings.py",
        (),
        ("sentence_transformers",),
        trains=False,
        place="BertIntermediate.forward",
        module="encoder.layer.*.intermediate.dense (4x)",
    ),
)
