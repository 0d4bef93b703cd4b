"""Estimates whether a training step fits on a GPU, by a simulated run in a separate process.

The calling process needs no GPU and gets none. It only waits for the program `vramstow`.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vramstow import program, rehearsed_step, sizes

_CHILD = (
    "import json, sys; target = json.loads(sys.argv[1]); sys.path[:0] = [target['package']]; "
    "from vramstow import rehearsed_step; rehearsed_step.run(target)"
)
# Variables that describe vramstow's installation. They are no options of the run that calls this
# function.
_INSTALLATION = {"VRAMSTOW_PROGRAM", "VRAMSTOW_ADAPTER_DIR"}
_PATIENCE = 15  # seconds; vramstow fit ends its job within ten


class EstimateError(RuntimeError):
    """The simulated run gave no estimate. The text contains the reason."""


@dataclass(frozen=True)
class Estimate:
    """The memory that a step needs on a GPU. Sizes are bytes.

    The peak is all memory that the GPU has to provide, including the CUDA context. The sum of
    `parts` is the peak. If the step does not fit, the peak is the peak on the same GPU with enough
    memory, and `spare_bytes` is negative. Both are None if 1 TiB is not enough.
    """

    card: str  # the card as the caller named it
    name: str
    total_bytes: int
    fits: bool
    peak_bytes: int | None
    spare_bytes: int | None
    parts: dict[str, int] = field(default_factory=dict)
    out_of_memory: int = 0  # the number of refused allocations, even if the step continued

    def __str__(self) -> str:
        if self.peak_bytes is None:
            return f"{self.card}: does not fit, not even into 1 TiB"
        verdict = "fits" if self.fits else "does not fit"
        peak, total = sizes.text(self.peak_bytes), sizes.text(self.total_bytes)
        parts = ", ".join(f"{name} {sizes.text(size)}" for name, size in self.parts.items())
        return f"{self.card}: {verdict}, {peak} at the peak of {total}: {parts}"


def _target_of_function(step: Callable[..., object]) -> dict[str, Any]:
    name = getattr(step, "__qualname__", None)
    module = getattr(step, "__module__", None)
    if name is None or module is None or not inspect.isroutine(step):
        raise TypeError(
            f"{step!r} is not a function: give a module's function, 'module:function', or a script"
        )
    if "<" in name:
        raise TypeError(
            f"{name} has no name in a module, so another process cannot import it: "
            "define the step with def at the top of a file"
        )
    needed = [
        parameter.name
        for parameter in inspect.signature(step).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        raise TypeError(
            f"{name} needs {', '.join(needed)}: the step is called without arguments, and must "
            "create its model and its data itself"
        )
    try:
        found = rehearsed_step.resolve(sys.modules[module], name)
    except (KeyError, AttributeError):
        found = None
    if found is not step:
        raise TypeError(
            f"{module}.{name} is not this function, so another process cannot import it"
        )
    if module != "__main__":
        return {"module": module, "name": name}
    return _target_in_main(name)


def _target_in_main(name: str) -> dict[str, Any]:
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return {"main": spec.name, "name": name}
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file():
        raise TypeError(
            f"{name} is defined in an interactive session, so another process cannot import it: "
            "write it into a file, and import it from there"
        )
    return {"file": str(Path(file).resolve()), "name": name}


def _target_of(
    step: Callable[..., object] | str | Path, arguments: Sequence[str]
) -> dict[str, Any]:
    if isinstance(step, Path) or (isinstance(step, str) and step.endswith(".py")):
        if not Path(step).is_file():
            raise FileNotFoundError(f"the script {step} does not exist")
        return {"script": str(step), "arguments": [str(argument) for argument in arguments]}
    if arguments:
        raise TypeError("arguments are for scripts only: a function is called without arguments")
    if not isinstance(step, str):
        return _target_of_function(step)
    module, colon, name = step.partition(":")
    if not colon or not module or not name:
        raise ValueError(f"{step!r} is neither 'module:function' nor a script that ends in .py")
    return {"module": module, "name": name}


def _environment() -> dict[str, str]:
    """Returns this process's environment without the variables of an enclosing vramstow run."""
    kept = dict(os.environ)
    if "libvramstow" in kept.get("LD_PRELOAD", ""):
        kept.pop("LD_PRELOAD")
        kept = {
            name: value
            for name, value in kept.items()
            if not name.startswith("VRAMSTOW_") or name in _INSTALLATION
        }
    return kept


def _end(rehearsal: subprocess.Popen[str]) -> None:
    """Ends a simulated run with all of its processes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(rehearsal.pid, number)
            rehearsal.wait(_PATIENCE)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _rehearse(target: dict[str, Any], card: str) -> str:
    with tempfile.TemporaryDirectory(prefix="vramstow-estimate-") as folder:
        command = [program.path(), "fit", "--once", "--json", f"--simulate={card}"]
        command += [f"--keep={folder}", "--", sys.executable, "-c", _CHILD, json.dumps(target)]
        with subprocess.Popen(
            command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # all of its processes can be ended
        ) as rehearsal:
            try:
                out, err = rehearsal.communicate()
            except BaseException:
                _end(rehearsal)
                raise
    if rehearsal.returncode not in (0, 1) or not out:
        lines = err.strip().splitlines() or [f"it ended with status {rehearsal.returncode}"]
        raise EstimateError(lines[-1].removeprefix("vramstow fit: "))
    return out


def estimate(
    step: Callable[[], object] | str | Path, card: str = "h100", arguments: Sequence[str] = ()
) -> Estimate:
    """Runs `step` on a simulated card in a separate process.

    `step` is a function without arguments that another process can import, the text
    "module:function", or a script (a path that ends in .py) with its arguments. If the function is
    in the program's main file, that file is imported there under another name than `__main__`.
    `card` has the format of `vramstow run --simulate`: "h100", "a100,memory=24GiB".
    """
    if rehearsed_step.is_running:
        raise EstimateError(
            "estimate() was called in the process of a simulated run: put the call behind if "
            "__name__ == '__main__', as with multiprocessing"
        )
    target = _target_of(step, arguments)
    target["path"] = [str(Path(entry).resolve()) for entry in sys.path]
    target["package"] = str(Path(__file__).resolve().parents[1])
    told = json.loads(_rehearse(target, card))
    cards = told["cards"]
    if len(cards) != 1:
        raise ValueError(f"{card!r} names {len(cards)} GPUs: give one")
    names = ("card", "name", "total_bytes", "fits", "peak_bytes", "spare_bytes", "parts")
    return Estimate(**{name: cards[0][name] for name in (*names, "out_of_memory")})
