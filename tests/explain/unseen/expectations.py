"""What is wrong with each job of this folder: written down before any of them was run.

A job's program marks the lines that are to blame with `# <-- place`. Where it has several, each of
them is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
MARK = "# <-- place"


def kept(card: float, rest: float, unit: float) -> float:
    """MiB of the whole units that fit beside the rest on a card. A simulated card gives an eighth
    of its memory to the context of a process."""
    return (card * 7 / 8 - rest) // unit * unit


@dataclass(frozen=True)
class Unseen:
    """`kind`: of the mistake, in free words. `holder`: what holds the memory, as its user names it;
    None where no object does. `saves_mib`: what the mended twin does without, from the sizes of the
    tensors. `counted`: "kept" where it is what lives at the failure and would not; "peak" where it
    is the difference of the largest needs; "request" where one request alone is too large."""

    name: str
    memory_mib: int  # of the card
    cause: str
    kind: str
    holder: str | None
    remedy: str
    saves_mib: float
    counted: str
    report: str  # what users reported in public

    @property
    def script(self) -> Path:
        return HERE / f"{self.name}.py"

    def places(self) -> list[str]:
        """ "script.py:12" of every marked line."""
        lines = self.script.read_text().splitlines()
        return [
            f"{self.script.name}:{number}"
            for number, line in enumerate(lines, start=1)
            if re.search(re.escape(MARK) + "$", line)
        ]


EVERY = (
    Unseen(
        "trainer_history",
        800,
        "The trainer keeps the hidden outputs of every step in its history.",
        "outputs kept",
        "trainer.history",
        "keep the mean of the outputs, or move them to the host",
        kept(800, 230, 32),
        "kept",
        "pytorch forums: memory grows with every step though the graph is freed",
    ),
    Unseen(
        "tenant_models",
        512,
        "lru_cache without a bound keeps the model of every customer.",
        "cache without a bound: models",
        "lru_cache of load_model",
        "give lru_cache a maxsize",
        kept(512, 40, 26) - 4 * 26,
        "kept",
        "stack overflow: lru_cache of model loading fills the GPU",
    ),
    Unseen(
        "deferred_logs",
        700,
        "Each functools.partial that waits for the end of the epoch holds a batch of pictures.",
        "outputs kept",
        "waiting",
        "write at once, or let the call hold a copy of one picture, or one on the host",
        kept(700, 220, 24),
        "kept",
        "pytorch forums: tensorboard add_images in callbacks grows memory",
    ),
    Unseen(
        "delayed_plots",
        600,
        "Each function in plots keeps the activations of its batch in its closure.",
        "outputs kept",
        "plots",
        "let the function hold a small part on the host",
        kept(600, 75, 16),
        "kept",
        "stack overflow: lambda in a loop keeps tensors alive",
    ),
    Unseen(
        "thread_scratch",
        700,
        "Sixteen threads have a canvas of 48 MiB each in threading.local.",
        "scratch for each thread",
        "local.canvas of each thread (threading.local)",
        "use fewer threads, or share the canvases",
        12 * 48,
        "peak",
        "github: memory grows with the number of worker threads",
    ),
    Unseen(
        "deep_prefetch",
        640,
        "The prefetcher holds up to 64 batches on the card before the first step.",
        "batches moved to the card too early",
        "loader.ready",
        "prefetch two batches, keep the others on the host",
        kept(640, 0, 12) - 24,
        "kept",
        "pytorch forums: data prefetcher to GPU runs out of memory",
    ),
    Unseen(
        "class_cache",
        640,
        "Scenes.cache keeps the grid of every index that was asked for.",
        "cache without a bound: data",
        "Scenes.cache",
        "bound the cache, or keep it on the host",
        kept(640, 10, 8) - 64,
        "kept",
        "github: dataset caches samples on the GPU, out of memory in the first epoch",
    ),
    Unseen(
        "notebook_cells",
        512,
        "sys.last_value keeps the error of the first try, whose traceback holds model and optimizer.",
        "error kept: its frames hold tensors",
        "sys.last_value (traceback: model, optimizer of train)",
        "forget the error: sys.last_value = sys.last_traceback = None, then gc.collect()",
        4 * 48 + 4,
        "kept",
        "stack overflow: jupyter does not free GPU memory after an exception",
    ),
    Unseen(
        "log_records",
        640,
        "The MemoryHandler keeps log records whose arguments are the features.",
        "outputs kept",
        "handler.buffer (logging.MemoryHandler)",
        "log the shape or a number, not the tensor",
        kept(640, 70, 16),
        "kept",
        "github: logging a tensor keeps it alive until the handler flushes",
    ),
    Unseen(
        "paused_streams",
        600,
        "Generators that nobody finishes keep their state on the card.",
        "state of paused generators",
        "streams (local state of Decoder.stream)",
        "close a stream when its caller stops",
        kept(600, 80, 16),
        "kept",
        "github: streaming generation leaks memory when the client disconnects",
    ),
    Unseen(
        "finalizers",
        640,
        "weakref.finalize keeps self.close, a bound method, so that no request is ever freed.",
        "object kept by its own finalizer",
        "weakref.finalize of Request.close (request.features)",
        "give finalize a function that does not hold the object",
        kept(640, 55, 16),
        "kept",
        "python docs and stack overflow: finalize with a bound method never runs",
    ),
    Unseen(
        "futures",
        640,
        "The list of futures keeps the vectors of every page.",
        "outputs kept",
        "futures (Future results)",
        "let the job give a small result or one on the host, or drop each future when it is read",
        kept(640, 65, 16),
        "kept",
        "stack overflow: concurrent futures keep results alive, GPU memory grows",
    ),
    Unseen(
        "auc_metric",
        700,
        "The metric collects the scores of all batches on the card.",
        "outputs kept",
        "metric.scores",
        "count as you go, or collect on the host",
        kept(700, 120, 31.25),
        "kept",
        "github torchmetrics: AUROC without thresholds runs out of GPU memory",
    ),
    Unseen(
        "smoothed_auxiliary",
        700,
        "The smoothed loss keeps the graph of the second head of every step.",
        "graphs of earlier passes",
        "monitor.smooth",
        "use second.item() or second.detach()",
        kept(700, 80, 36),
        "kept",
        "pytorch forums: running average of the loss leaks memory",
    ),
    Unseen(
        "prototypes",
        700,
        "The prototypes keep the graph of every update, and in it the one-hot matrix of each.",
        "graphs of earlier passes",
        "prototypes.values",
        "update under torch.no_grad(), or with features.detach()",
        kept(700, 220, 31.25),
        "kept",
        "pytorch forums: momentum update of prototypes grows memory",
    ),
    Unseen(
        "ppo_rollouts",
        512,
        "The agent keeps the frames of all rollouts, and learns from the newest one only.",
        "outputs kept",
        "agent.rollouts",
        "clear the rollouts after each update",
        kept(512, 70, 13.8),
        "kept",
        "github: PPO buffer is never cleared",
    ),
    Unseen(
        "beam_caches",
        800,
        "Every hypothesis that was ever made stays in a list with its own cache.",
        "caches of keys and values kept",
        "hypotheses",
        "keep the hypotheses of the last step only",
        kept(800, 100, 16.3) - 4 * 16.3,
        "kept",
        "github: beam search keeps past key values of dropped beams",
    ),
    Unseen(
        "crops",
        700,
        "Each small crop is a view that keeps its whole picture alive.",
        "views keep large storages",
        "crops",
        "clone() the crop",
        kept(700, 24, 24),
        "kept",
        "pytorch forums: slicing a tensor does not free the original",
    ),
    Unseen(
        "scan_states",
        600,
        "The scan keeps the states of all steps, and only the last is used.",
        "outputs kept",
        "states",
        "keep the last state only",
        kept(600, 60, 16) - 16,
        "kept",
        "github jax/pytorch scan: all carries are stacked",
    ),
    Unseen(
        "gradient_log",
        1024,
        "Hooks put the gradient of every layer and step into a dictionary.",
        "gradients kept",
        "gradients",
        "keep gradient.norm().item()",
        kept(1024, 220, 16),
        "kept",
        "pytorch forums: register_hook to save gradients runs out of memory",
    ),
    Unseen(
        "retained_graph",
        600,
        "retain_graph=True keeps the graph of the last step through loss while the next is built.",
        "graph retained after backward",
        "loss (and output)",
        "leave retain_graph out",
        8 * 32,
        "peak",
        "pytorch forums: retain_graph=True doubles memory",
    ),
    Unseen(
        "gradient_norm_graph",
        600,
        "create_graph=True keeps forward and backward pass for a second derivative that is not asked.",
        "graph of the gradient, needless",
        "gradients",
        "leave create_graph out",
        8 * 32,
        "peak",
        "pytorch issues: create_graph memory for gradient norm",
    ),
    Unseen(
        "streaming_speech",
        600,
        "Inference runs with gradients on, and the state keeps the graph of all pieces.",
        "needless graph: inference without no_grad",
        "state",
        "recognise under torch.no_grad() or inference_mode()",
        kept(600, 80, 12.5),
        "kept",
        "pytorch forums: hidden state at inference grows memory",
    ),
    Unseen(
        "gan_losses",
        980,
        "The discriminator's loss goes through the generator, so its graph is retained meanwhile.",
        "graph retained after backward",
        "critic_loss",
        "fake.detach() in the critic's loss, no retain_graph",
        2 * 6 * 32,
        "peak",
        "pytorch forums: GAN with retain_graph runs out of memory",
    ),
    Unseen(
        "unfreeze",
        700,
        "The whole network is thawed, so that gradients and Adam's state of all layers are needed.",
        "gradients and optimizer state",
        "optimizer.state, gradients of model.layers",
        "thaw fewer layers, or an optimizer with less state",
        9 * 16 * 3,
        "peak",
        "fastai forums: out of memory after unfreeze()",
    ),
    Unseen(
        "fold_trainers",
        700,
        "The trainers of earlier folds stay in results with model, gradients and optimizer state.",
        "earlier models kept",
        "results",
        "keep the score, not the trainer",
        3 * 128,
        "kept",
        "stack overflow: k-fold cross validation runs out of GPU memory",
    ),
    Unseen(
        "ablation",
        480,
        "The table keeps the network of every width that was tried.",
        "earlier models kept",
        "found",
        "keep the score, or move the network to the host",
        sum(6 * (width**2 + width) * 4 / 2**20 for width in range(512, 2049, 256)),
        "kept",
        "pytorch forums: hyperparameter search accumulates models",
    ),
    Unseen(
        "shards",
        800,
        "The loaded files stay on the card beside the model that was made from them.",
        "loaded checkpoint kept on the card",
        "weights",
        'map_location="cpu", or del weights after load_state_dict',
        18 * 16,
        "kept",
        "huggingface forums: loading shards with map_location cuda doubles memory",
    ),
)
