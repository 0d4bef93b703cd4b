"""Runs a peer's suite on the simulated GPU alone, under the interposer, and with its pool, and
checks what the interposer saw of it."""

from __future__ import annotations

import json
from pathlib import Path

from built import VRAMSTOW, run_program, run_vramstow

HERE = Path(__file__).resolve().parent

# The name of each mode, whether the interposer is loaded, and its settings.
MODES: dict[str, tuple[bool, tuple[str, ...]]] = {
    "plain": (False, ()),
    # Values are computed as in the other modes, but PyTorch's allocator is not observed.
    "native": (True, ("--pool=off", "--level=segments")),
    "traced": (True, ("--pool=off",)),
    "pool": (True, ("--pool=on",)),
    "segments": (True, ("--pool=on", "--level=segments")),
}


def environment(card: str, mode: str, traces: Path) -> dict[str, str]:
    """Returns the environment of a simulated run in this mode."""
    interposer, settings = MODES[mode]
    run = [VRAMSTOW, "run", f"--simulate={card}", *settings]
    listed = run_program(*run, "--trace-dir", traces, "--", "env", "-0", check=True)
    env = dict(entry.split("=", 1) for entry in listed.stdout.split("\0") if entry)
    if not interposer:
        libraries = env["LD_PRELOAD"].split(":")
        env["LD_PRELOAD"] = ":".join(
            name for name in libraries if not name.endswith("/libvramstow.so")
        )
        env.pop("PYTHONPATH", None)
    return env


def with_path(env: dict[str, str], folder: Path) -> dict[str, str]:
    """Appends the folder to PYTHONPATH, after that of the start-up hook."""
    before = env.get("PYTHONPATH")
    return env | {"PYTHONPATH": str(folder) if not before else f"{before}:{folder}"}


def assert_seen(mode: str, traces: Path) -> None:
    """Checks that the interposer counted calls, and that its pool, if it is on, served some of
    them."""
    files = sorted(traces.glob("*.stow"))
    interposer, settings = MODES[mode]
    if not interposer:
        assert not files, "the interposer was there all the same"
        return
    assert files, "the interposer left no trace"
    told = run_vramstow("analyze", "--json", *files, check=True)
    kinds = json.loads(told.stdout)["counts"]["events_by_kind"]
    assert sum(kinds.values()) > 0, "not one call was counted"
    served = kinds.get("cache_grow", 0)
    assert (served > 0) == ("--pool=on" in settings), f"the pool grew {served} times"
