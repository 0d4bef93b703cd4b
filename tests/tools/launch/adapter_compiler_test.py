"""What vramstow adapter build passes to the compiler, and what it says of one that fails.

The compilers and the PyTorch are fakes; tests/adapters compiles real adapters.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

from built import VRAMSTOW, Ran, run_program
from installation import torch_folder


def build(
    tmp_path: Path,
    torch: Path,
    compiler: str,
    preexec_fn: Callable[[], object] | None = None,
    **env: str,
) -> Ran:
    base = {name: value for name, value in os.environ.items() if "VRAMSTOW" not in name}
    folder = {"CXX": compiler, "VRAMSTOW_ADAPTER_DIR": str(tmp_path / "adapters")}
    command = [VRAMSTOW, "adapter", "build", "--torch", torch]
    done = run_program(*command, env=base | folder | env, timeout=60, preexec_fn=preexec_fn)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    return done


def compiler_that(tmp_path: Path, script: str) -> str:
    path = tmp_path / "compiler"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_comma_in_the_path_of_pytorch_reaches_the_linker(tmp_path: Path) -> None:
    torch = torch_folder(tmp_path / "one,two", "2.15.0")
    compiler = compiler_that(tmp_path, f"printf '%s\\n' \"$@\" > {tmp_path}/arguments; exit 1")
    build(tmp_path, torch, compiler)
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[-4:] == ["-Xlinker", "-rpath", "-Xlinker", str(torch / "lib")]
    assert not [word for word in arguments if word.startswith("-Wl,") and "one" in word]


def test_a_folder_of_cuda_that_cannot_be_searched_has_no_headers(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    torch = torch_folder(tmp_path, "2.15.0")
    compiler = compiler_that(tmp_path, "echo 'unit.cc:1: error: it fails'; exit 1")
    done = build(tmp_path, torch, compiler, CUDA_HOME=str(tmp_path / "loop"))
    assert done.stderr.endswith(
        f"cannot be compiled with {compiler} (unit.cc:1: error: it fails).\n"
    )


def test_a_compiler_that_does_not_know_the_standard_is_doubted(tmp_path: Path) -> None:
    torch = torch_folder(tmp_path, "2.15.0")
    refusal = "error: unrecognized command line option -std=c++20"
    done = build(tmp_path, torch, compiler_that(tmp_path, f"echo '{refusal}'; exit 1"))
    assert done.stderr.endswith(f"({refusal}): is a C++20 compiler installed?\n")
    done = build(tmp_path, torch, compiler_that(tmp_path, "exit 3"))
    assert done.stderr.endswith("(it printed no error and ended with 3).\n")


def test_a_file_that_cannot_be_written_is_no_fault_of_the_compiler(tmp_path: Path) -> None:
    def write_nothing() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = build(tmp_path, torch_folder(tmp_path, "2.15.0"), "/bin/true", write_nothing)
    assert f"cannot write {tmp_path}/adapters/" in done.stderr
    assert done.stderr.endswith(" (File too large).\n")


def test_a_failed_compilation_is_none_that_succeeded_where_sigchld_is_ignored(
    tmp_path: Path,
) -> None:
    done = build(
        tmp_path,
        torch_folder(tmp_path, "2.15.0"),
        "/bin/false",
        lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert "cannot be compiled with /bin/false" in done.stderr


def test_the_status_needs_no_folder_and_makes_none(tmp_path: Path) -> None:
    torch = torch_folder(tmp_path, "2.15.0")
    folder = tmp_path / "none/adapters"
    command = [VRAMSTOW, "adapter", "status", "--torch", torch, "--adapter-dir", folder]
    done = run_program(*command, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"in {folder}:\n")
    assert not folder.parent.exists()
