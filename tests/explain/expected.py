"""The jobs, and the mistake in each: written before anything was analysed.

A job's program marks the lines with the mistake with `# <-- place`. If it has several marked lines,
each of them is a right answer. With the argument `mended` a program runs without its mistake; after
"Mended:" its docstring says what it does instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

JOBS = Path(__file__).parent / "jobs"
MARK = "# <-- place"


@dataclass(frozen=True)
class Job:
    """`cause`: the id of the advice that must come first; "a|b" if both are right.
    `holder`: the object that holds the memory, as a person would call it; None if no object does.
    `memory_mib`: the GPU's memory.
    """

    name: str
    cause: str
    memory_mib: int
    holder: str | None = None
    action: str = ""  # what the advice must speak of
    lives: bool = False  # it does not fail, and wastes
    is_short: bool = False  # part of the default suite
    parameters: int = 0  # what is to blame is so many times as large as those
    # If set, the fixed program never needs more memory than the job has at its failure, and has
    # none of the memory to blame, so the difference is the memory that the fix saves.
    shows_saving: bool = False

    @property
    def script(self) -> Path:
        return JOBS / f"{self.name}.py"

    def causes(self) -> list[str]:
        return self.cause.split("|")

    def places(self) -> list[str]:
        """Returns "script.py:12" for every marked line."""
        lines = self.script.read_text().splitlines()
        return [
            f"{self.script.name}:{number}"
            for number, line in enumerate(lines, start=1)
            if re.search(re.escape(MARK) + "$", line)
        ]


EVERY = (
    Job("all_pairs", "broadcast", 700, shows_saving=True),
    Job("attention_by_hand", "attention_scores", 540),
    Job("attention_weights", "attention_scores", 1400, shows_saving=True),
    Job("augmented_views", "data_on_card", 2048, "views"),
    Job("averaged_model", "second_copy", 420, "teacher, average"),
    Job("batches_ahead", "data_on_card", 540, "batches"),
    Job("big_table", "optimizer_state", 590, "optimizer.state", parameters=2),
    Job("cached_tables", "kept_outputs", 640, "turns", action="lru_cache"),
    Job("candidates", "second_copy", 480, "model"),
    Job("careless_validation", "needless_graph", 2048, action="no_grad", is_short=True),
    Job(
        "carried_state",
        "held_graphs",
        800,
        "state",
        action="detach",
        is_short=True,
        shows_saving=True,
    ),
    Job("collected_logits", "kept_outputs", 1000, "collected", shows_saving=True),
    Job("contrastive", "broadcast", 1000, shows_saving=True),
    Job("data_on_card", "data_on_card", 540, "images", is_short=True),
    Job("dense_table_gradient", "table_gradient", 2048, action="sparse"),
    Job("distances", "broadcast", 1200, shows_saving=True),
    Job("distillation", "needless_graph", 2048, action="no_grad"),
    Job("doubles", "float64", 820, "model"),
    Job("empty_cache", "stop_empty_cache", 1200, lives=True),
    Job("endless_loader", "kept_outputs", 700, "endless", action="cycle"),
    Job("ensemble", "second_copy", 430, "members"),
    Job(
        "evaluation_outputs",
        "held_graphs",
        1200,
        "vectors",
        action="no_grad",
        is_short=True,
        shows_saving=True,
    ),
    Job("evaluator_class", "held_graphs", 1000, "results", action="no_grad", shows_saving=True),
    Job("expert_masks", "large_request", 900, action="one-hot"),
    Job("first_step", "optimizer_state", 620, "optimizer.state", is_short=True, parameters=2),
    Job("first_tokens", "kept_outputs", 800, "firsts", action=".clone()", shows_saving=True),
    Job("gradient_noise", "kept_outputs|gradients_kept", 570, "noise", shows_saving=True),
    Job("graph_per_shape", "graph_pools", 700, "graphs"),
    Job("grid_features", "broadcast", 640, shows_saving=True),
    Job("growing_cache", "concatenation", 1400, "cache", is_short=True, shows_saving=True),
    Job("heat_flow", "held_graphs", 1200, "heat", action="checkpoint"),
    Job("hook_for_each_call", "kept_outputs", 600, "found", action="handle.remove()"),
    Job("inner_steps", "held_graphs|activations", 420, shows_saving=True),
    Job("join_at_end", "concatenation", 620, "parts", shows_saving=True),
    Job("kept_penalties", "held_graphs", 1000, "log", action=".item()", shows_saving=True),
    Job("kernel_matrix", "broadcast", 800, shows_saving=True),
    Job("label_smoothing", "large_request", 760, is_short=True),
    Job("last_picture", "delete_reference", 460, "picture", shows_saving=True),
    Job("layer_taps", "kept_outputs", 640, "taps", shows_saving=True),
    Job("loader_on_card", "data_on_card|kept_outputs", 550, "batches"),
    Job("long_documents", "activations", 1250),
    Job("long_rollout", "held_graphs", 600, "values", action="no_grad", shows_saving=True),
    Job("loss_in_float", "large_request", 1050, shows_saving=True),
    Job("mask_per_layer", "large_buffers", 1500, "mask", action="masks and tables once"),
    Job("master_weights", "optimizer_state|optimizer_temporaries", 2048),
    Job("merged_adapters", "second_copy", 520, "saved", shows_saving=True),
    Job("meter_history", "held_graphs", 1200, "values", action=".item()", shows_saving=True),
    Job("momentum", "optimizer_state", 540, "sgd.state", parameters=1, shows_saving=True),
    Job("moving_average", "second_copy", 570, "average, best"),
    Job("one_hot", "large_request", 1100),
    Job("past_folds", "earlier_models", 800, "schedules", action="scheduler"),
    Job("position_network", "activations", 2300, action="smaller batch does not help"),
    Job("probe_hook", "kept_outputs", 1100, "seen", shows_saving=True),
    Job("promoted", "float64", 1340, action="float", shows_saving=True),
    Job("prompt_answers", "kept_outputs", 560, "result", shows_saving=True),
    Job("relations", "broadcast", 940, is_short=True),
    Job("replay_memory", "kept_outputs", 480, "memory.frames", is_short=True, shows_saving=True),
    Job("resumed", "second_copy", 820, "weights"),
    Job("retry", "retry_in_handler", 430, "exception being handled", is_short=True),
    Job("running_total", "held_graphs", 540, "total", action=".item()"),
    Job("saved_errors", "kept_error", 1000, "errors"),
    Job("scratch_of_a_library", "past_pytorch", 590, "space", is_short=True),
    Job("segmentation", "activations", 540, is_short=True),
    Job("sessions", "kept_outputs", 490, "sessions", shows_saving=True),
    Job("sharpness", "held_graphs", 800, action="create_graph"),
    Job("snapshots_of_weights", "second_copy|kept_outputs", 740, "snapshots", shows_saving=True),
    Job("step_temporaries", "optimizer_temporaries", 770),
    Job(
        "summed_micro_batches",
        "held_graphs",
        740,
        "total",
        action="backward",
        is_short=True,
        shows_saving=True,
    ),
    Job("token_mixing", "attention_scores", 1040, shows_saving=True),
    Job("too_large_model", "model_too_large", 1500, "model", action="bfloat16"),
    Job("transducer", "large_request", 1850),
    Job("two_optimizers", "optimizer_state", 700, "warmup", parameters=2, shows_saving=True),
    Job("two_players", "gradients_kept", 630, "players[0]"),
    Job("unpacked_weights", "kept_in_modules", 700, "full", action="forward()", is_short=True),
    Job("validation_after_training", "held_graphs", 600, "total", action="no_grad"),
    Job("whole_basis", "large_request", 800, action="full_matrices"),
    Job("wide_batch", "activations", 650, shows_saving=True),
    Job("windows", "large_request", 1400),
    Job("worker_results", "kept_outputs", 540, "results", shows_saving=True),
)
