"""The effect of each technique for all sizes: which value falls, is equal, or rises."""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]

# Sizes that differ by less count as equal, because of rounding and short-lived blocks.
SAME = 1 << 20

FALLS = {
    "accumulation",
    "adafactor",
    "all_together",
    "bf16_weights",
    "checkpoint_loading",
    "checkpointing",
    "checkpointing_reentrant",
    "costliest_operation",
    "data_on_demand",
    "ddp",
    "delete_intermediates",
    "distillation",
    "foreach_off",
    "fsdp2",
    "fused_optimizer",
    "garbage_collection",
    "half_precision_inference",
    "layer_offload",
    "list_of_losses",
    "mixed_precision",
    "no_grad",
    "operations_on_cpu",
    "optimizer_in_backward",
    "quantised_weights",
    "saved_tensors",
    "set_to_none",
    "structured_pruning",
    "track_an_operation",
}
STAYS = {
    "counters",
    "deferred_initialisation",
    "delete_too_late",
    "empty_cache",
    "in_place",
    "inference_mode",
    "lazy_module_loading",
    "lazy_modules",
    "pinned_loader",
}
# Figures besides the peak: the technique, the figure, and whether it must fall.
OTHERS = (
    ("deferred_initialisation", "host_bytes", True),
    ("empty_cache", "device_allocations", False),
    ("pinned_loader", "pinned_bytes", False),
    ("saved_tensors", "pinned_bytes", False),
    ("set_to_none", "between_steps_bytes", True),
)


def wrong(name: str, variants: dict[str, Facts]) -> list[str]:
    """Returns sentences about the values that are not as they must be. Values that a quick run
    lacks are skipped."""
    before, after = variants["before"], variants["after"]
    found = []
    change = after["allocated_bytes"] - before["allocated_bytes"]
    if name in FALLS and change > -SAME:
        found.append(f"{name}: its peak should fall, and changed by {change} bytes.")
    if name in STAYS and abs(change) > SAME:
        found.append(f"{name}: its peak should stay, and changed by {change} bytes.")
    if name == "pruning_by_mask" and change < 0:
        found.append(f"{name}: masks save nothing, and its peak fell by {-change} bytes.")
    for technique, figure, falls in OTHERS:
        a, b = before.get(figure), after.get(figure)
        if technique != name or a is None or b is None:
            continue
        if (b >= a) if falls else (b <= a):
            found.append(f"{name}: {figure} went from {a} to {b}.")
    if name == "fragmentation":
        report = before.get("out_of_memory_report") or {}
        pool = report.get("pool") or {}
        if not before["died"] or after["died"]:
            found.append(f"{name}: it should die before, and not after.")
        elif pool.get("free_bytes", 0) * 2 < report.get("allocated_bytes", 1):
            found.append(f"{name}: less was free than half of what was in use: {report}")
    if name == "vramstow_offload" and (after["died"] or not after["offloaded_bytes"]):
        found.append(f"{name}: it should be done, and move memory to the host.")
    return found
