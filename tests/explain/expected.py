"""Lists the jobs and the mistake in each, which were written before any analysis.

A job's program marks the lines with the mistake with `# <-- place`. If it has several marked lines,
each of them is a right answer. With the argument `mended` a program runs without its mistake; after
"Mended:" its docstring says what it does instead.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

JOBS = Path(__file__).parent / "jobs"
MARK = "# <-- place"


def kept(card: float, rest: float, unit: float) -> float:
    """Returns how many MiB of whole units fit on a card beside the rest.

    A simulated card gives an eighth of its memory to the context of a process.
    """
    return (card * 7 / 8 - rest) // unit * unit


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
    action: str = ""  # must occur in the advised action
    lives: bool = False  # the job ends well, but wastes memory
    is_short: bool = False  # part of the default suite
    parameters: int = 0  # size of the memory to blame / size of the parameters
    pool: bool = True  # the pool serves the job instead of PyTorch's own allocator
    # Memory that the fixed program does not need, computed from the sizes of its tensors; 0 if it
    # is unknown.
    saves_mib: float = 0
    # True if the memory saved by the fix equals the job's memory at its failure minus the peak of
    # the fixed program. This holds if the fixed program has none of the memory to blame and never
    # needs more than the job at its failure.
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


Native = functools.partial(Job, pool=False)

# The jobs: one program for each cause, and for each kind of object that holds the memory.
EVERY = (
    Native(
        "adapters_not_frozen",
        "needless_graph|gradients_kept",
        600,
        "base.weight.grad",
        saves_mib=16 * 16,
    ),
    Job("all_pairs", "broadcast", 700, is_short=True, shows_saving=True),
    Native(
        "atexit_report",
        "kept_outputs|largest_holder|kept_in_modules",
        600,
        "atexit",
        saves_mib=kept(600, 50, 16),
    ),
    Job("attention_weights", "attention_scores", 1400, shows_saving=True),
    Native("autocast_copies", "autocast_copies", 600, saves_mib=24 * 8),
    Job("averaged_model", "second_copy", 420, "teacher, average"),
    Job("batches_ahead", "data_on_card", 540, "batches"),
    Native("cached_arguments", "earlier_models", 360, "trained_names", saves_mib=13 * 16),
    Job("cached_tables", "kept_outputs", 640, "turns", action="lru_cache"),
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
    Native("contexts", "kept_outputs|largest_holder", 600, "contexts", saves_mib=kept(600, 60, 16)),
    Native("ctx_output", "dead_cycles", 900, "Swish", saves_mib=18 * 32),
    Native("cyclic_trials", "dead_cycles", 600, "Trial", saves_mib=2 * 2 * 96),
    Job("data_on_card", "data_on_card", 540, "images", is_short=True),
    Native(
        "default_argument",
        "kept_outputs|largest_holder",
        640,
        "hard_examples",
        saves_mib=(26 - 8) * 16,
    ),
    Native(
        "deferred_logs",
        "kept_outputs",
        700,
        "waiting",
        saves_mib=14 * 24,
    ),
    Native(
        "delayed_plots",
        "kept_outputs",
        600,
        "plots",
        saves_mib=kept(600, 75, 16),
    ),
    Job("dense_table_gradient", "table_gradient", 2048, action="sparse"),
    Native("dice_score", "wide_integers", 700, saves_mib=3 * 256),
    Native("document_embeddings", "kept_outputs", 600, "documents", saves_mib=27 * 16),
    Job("doubles", "float64", 820, "model"),
    Job("empty_cache", "stop_empty_cache", 1200, lives=True),
    Job("endless_loader", "kept_outputs", 700, "endless", action="cycle"),
    Job(
        "evaluation_outputs",
        "held_graphs",
        1200,
        "vectors",
        action="no_grad",
        is_short=True,
        shows_saving=True,
    ),
    Native(
        "features_to_host",
        "held_graphs|needless_graph",
        500,
        "features",
        saves_mib=kept(500, 24 + 32, 7 * 16),
    ),
    Native("finalizers", "largest_holder", 640, "finalize", saves_mib=32 * 16),
    Job("first_step", "optimizer_state", 620, "optimizer.state", is_short=True, parameters=2),
    Job("first_tokens", "kept_outputs", 800, "firsts", action=".clone()", shows_saving=True),
    Native("flat_norm", "concatenation|large_request", 900, saves_mib=320),
    Native("fold_trainers", "earlier_models", 700, "results", saves_mib=3 * 128, is_short=True),
    Native(
        "fragmented", "out_of_memory_by_fragmentation", 800, "results", saves_mib=11 * (60 - 34)
    ),
    Native("full_fine_tuning", "model_too_large", 700, "layers", saves_mib=23 * 16),
    Native(
        "futures",
        "kept_outputs",
        640,
        "futures",
        saves_mib=kept(640, 65, 16),
    ),
    Job("gradient_noise", "kept_outputs|gradients_kept", 570, "noise", shows_saving=True),
    Native("gradient_norm_graph", "graph_of_gradients", 600, "gradients", saves_mib=8 * 32),
    Job("graph_per_shape", "graph_pools", 700, "graphs"),
    Job("growing_cache", "concatenation", 1400, "cache", is_short=True, shows_saving=True),
    Job("heat_flow", "held_graphs", 1200, "heat", action="checkpoint"),
    Job("hook_for_each_call", "kept_outputs", 600, "found", action="handle.remove()"),
    Native("idle_average", "activations", 920, "grad_fn", saves_mib=12 * 64 / 2),
    Job("join_at_end", "concatenation", 620, "parts", shows_saving=True),
    Job("label_smoothing", "large_request", 760, is_short=True),
    Job("last_picture", "delete_reference", 460, "picture", shows_saving=True),
    Native(
        "log_records",
        "kept_outputs",
        640,
        "buffer",
        saves_mib=kept(640, 70, 16),
    ),
    Native("long_masks", "wide_integers", 700, saves_mib=512 - 64),
    Job("loss_in_float", "large_request", 1050, shows_saving=True),
    Native(
        "many_transitions",
        "kept_outputs",
        160,
        "transitions",
        saves_mib=kept(160, 2, 2),
    ),
    Job("mask_per_layer", "large_buffers", 1500, "mask", action="masks and tables once"),
    Native("mc_dropout", "kept_outputs|largest_holder", 600, "spread", saves_mib=kept(600, 40, 16)),
    Native("mean_teacher", "needless_graph", 800, "target", saves_mib=7 * 32),
    Native("memory_fraction", "own_limit", 2048),
    Job("merged_adapters", "second_copy", 520, "saved", shows_saving=True),
    Job("meter_history", "held_graphs", 1200, "values", action=".item()", shows_saving=True),
    Job("momentum", "optimizer_state", 540, "sgd.state", parameters=1, shows_saving=True),
    Native("nerf_rays", "activations|largest_holder|large_request", 800, saves_mib=2 * (512 - 32)),
    Native("notebook_cells", "kept_error", 512, "sys.last_", saves_mib=4 * 48, is_short=True),
    Native("one_checkpoint", "recomputation", 600, saves_mib=16 * 32 - (4 * 32 + 3 * 16)),
    Job("one_hot", "large_request", 1100),
    Job("past_folds", "earlier_models", 800, "schedules", action="scheduler"),
    Native("paused_streams", "kept_outputs", 600, "streams", saves_mib=28 * 16),
    Native(
        "pending_coroutines",
        "kept_outputs|largest_holder",
        600,
        "answer",
        saves_mib=kept(600, 60, 16) - 16,
    ),
    Job("position_network", "activations", 2300, action="smaller batch does not help"),
    Native("preference_pairs", "needless_graph", 620, "grad_fn", saves_mib=2 * 6 * 16),
    Job("promoted", "float64", 1340, action="float", shows_saving=True),
    Native(
        "recursion",
        "kept_outputs|largest_holder",
        600,
        "Solver.refine",
        saves_mib=kept(600, 70, 16),
    ),
    Native(
        "registry", "kept_outputs|largest_holder", 600, "instances", saves_mib=kept(600, 70, 12)
    ),
    Native("repeated_mask", "broadcast|large_request", 560, saves_mib=512 - 8),
    Job("replay_memory", "kept_outputs", 480, "memory.frames", is_short=True, shows_saving=True),
    Job("resumed", "second_copy", 820, "weights"),
    Native("retained_graph", "retained_graph", 600, "output", saves_mib=8 * 32),
    Job("retry", "retry_in_handler", 430, "exception being handled", is_short=True),
    Job("running_total", "held_graphs", 540, "total", action=".item()"),
    Native("save_in_float", "second_copy", 700, "state", saves_mib=384),
    Job("saved_errors", "kept_error", 1000, "errors"),
    Native(
        "scan_states",
        "kept_outputs|largest_holder|kept_in_modules",
        600,
        "states",
        saves_mib=kept(600, 60, 16) - 16,
        is_short=True,
    ),
    Job("scratch_of_a_library", "past_pytorch", 590, "space", is_short=True),
    Job("sessions", "kept_outputs", 490, "sessions", shows_saving=True),
    Native("shared_card", "other_processes", 2048, "process", saves_mib=900 + 2048 / 8),
    Job("sharpness", "held_graphs", 800, action="create_graph"),
    Native(
        "spectrograms",
        "largest_holder",
        500,
        "Spectrograms.__init__",
        saves_mib=kept(500, 0, 1),
    ),
    Native(
        "step_buffers",
        "kept_outputs|largest_holder|kept_in_modules",
        600,
        "model",
        saves_mib=23 * 16,
    ),
    Native("step_history", "optimizer_state|kept_outputs", 500, "state", saves_mib=19 * 16),
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
    Native("tee_batches", "kept_outputs|largest_holder", 600, "second", saves_mib=29 * 16),
    Native(
        "tenant_models",
        "earlier_models",
        512,
        "lru_cache",
        saves_mib=4 * 77 + 16 + 25 - 102,
        is_short=True,
    ),
    Native("thread_scratch", "kept_outputs", 700, "canvas", saves_mib=11 * 48),
    Native(
        "timers",
        "kept_outputs|largest_holder|kept_in_modules",
        600,
        "Timer",
        saves_mib=kept(600, 60, 16),
    ),
    Job("too_large_model", "model_too_large", 1500, "model", action="bfloat16"),
    Job("two_optimizers", "optimizer_state", 700, "warmup", parameters=2, shows_saving=True),
    Job("two_players", "gradients_kept", 630, "players[0]"),
    Native("unbounded_queue", "data_on_card", 640, "batches", saves_mib=kept(640, 5, 16) - 32),
    Job("unpacked_weights", "kept_in_modules", 700, "full", action="forward()", is_short=True),
    Native("weak_keys", "kept_outputs", 600, "known", saves_mib=kept(600, 60, 16)),
    Job("whole_basis", "large_request", 800, action="full_matrices"),
    Job("wide_batch", "activations", 650, is_short=True, shows_saving=True),
    Job("worker_results", "kept_outputs", 540, "results", shows_saving=True),
)
