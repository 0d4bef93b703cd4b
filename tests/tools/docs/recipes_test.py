"""The recipes for clusters are linted, parsed, and run as far as possible on one machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import formats_python
import pytest
from built import ROOT, VRAMSTOW, run_program
from pages_test import commands, help_of

RECIPES = ROOT / "docs/recipes"
SCRIPTS = sorted([*RECIPES.rglob("*.sh"), *RECIPES.glob("*.sbatch")])

# Replaces srun on one machine: it runs as many tasks as the test wants, one after the other; with
# one task for each node, it runs one. It ignores srun's own flags.
SRUN = """#!/usr/bin/env bash
tasks=3
while [[ $1 == --* ]]; do
  [[ $1 == --ntasks-per-node=1 ]] && tasks=1
  shift
done
status=0
for ((task = 0; task < tasks; ++task)); do
  SLURM_PROCID=$task SLURM_LOCALID=$task SLURM_NTASKS=$tasks "$@" || status=$?
done
exit $status
"""
SCONTROL = "#!/usr/bin/env bash\necho node1\necho node2\n"
# A job in which rank 2 allocates more memory than the other ranks.
TRAIN = """
import ctypes, os
rank = int(os.environ["RANK"])
assert os.environ["MASTER_ADDR"] == "node1" and os.environ["WORLD_SIZE"] == "3"
cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
for _ in range(6 if rank == 2 else 2):
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(16 << 20)) == 0
raise SystemExit(int(os.environ.get("FAILS", "0")))
"""


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def environment(folder: Path, **more: str) -> dict[str, str]:
    base = {name: value for name, value in os.environ.items() if "VRAMSTOW" not in name}
    path = f"{folder}:{VRAMSTOW.parent}:{Path(sys.executable).parent}:{base['PATH']}"
    return base | {"PATH": path} | more


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_are_as_shellcheck_wants_them(script: Path) -> None:
    for command in (["bash", "-n"], ["shellcheck"]):
        result = run_program(*command, script, timeout=60)
        assert result.returncode == 0, result.stdout + result.stderr


def vramstow_calls(words: list[str]) -> list[tuple[str, list[str]]]:
    """Returns each vramstow command among the words, with its flags."""
    found = []
    for i, word in enumerate(words[:-1]):
        if word.rpartition("/")[2] == "vramstow" and words[i + 1] in commands():
            rest = words[i + 2 :]
            stop = rest.index("--") if "--" in rest else len(rest)
            found.append((words[i + 1], [flag for flag in rest[:stop] if flag.startswith("--")]))
    return found


def check_flags(words: list[str]) -> int:
    calls = vramstow_calls(words)
    for command, flags in calls:
        for flag in flags:
            assert flag.partition("=")[0] in help_of(str(VRAMSTOW), command), (command, flag)
    return len(calls)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_use_flags_that_there_are(script: Path) -> None:
    lines = script.read_text().replace("\\\n", " ").splitlines()
    assert sum(check_flags(line.split()) for line in lines if not line.startswith("#")) >= 2


def test_the_manifest_is_one(tmp_path: Path) -> None:
    text = run_program(
        "/usr/bin/python3",
        "-c",
        "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)",
        stdin=(RECIPES / "kubernetes.yaml").open(),
        check=True,
        timeout=60,
    ).stdout
    manifest: dict[str, Any] = json.loads(text)
    assert (manifest["apiVersion"], manifest["kind"]) == ("batch/v1", "Job")
    pod = manifest["spec"]["template"]["spec"]
    assert pod["restartPolicy"] in ("Never", "OnFailure"), "what a Job may have"
    volumes = {volume["name"] for volume in pod["volumes"]}
    calls = 0
    for container in [*pod["initContainers"], *pod["containers"]]:
        assert re.fullmatch(r"[a-z0-9-]+", container["name"])
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert set(mounts) <= volumes
        calls += check_flags(container["command"])
        # Each folder that the container's command names is the mount path of a volume.
        for word in container["command"]:
            if word.startswith(("--trace-dir=", "--control-dir=")):
                assert word.partition("=")[2] in mounts.values()
    assert calls == 2


def test_the_container_recipe_is_as_hadolint_wants_it() -> None:
    python = Path(formats_python.FORMATS_PYTHON)
    hadolint = shutil.which("hadolint", path=f"{python.parent}:{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("needs hadolint: pip install -r setup/requirements-formats.txt")
    recipe = RECIPES / "container/Containerfile"
    linted = run_program(hadolint, recipe)
    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.skipif("VRAMSTOW_LONG_RECIPES" not in os.environ, reason="only in the long run")
def test_the_check_of_the_container_passes_and_fails(tmp_path: Path) -> None:
    check = ["sh", RECIPES / "container/check.sh"]
    passed = run_program(*check, env=environment(tmp_path), timeout=500)
    assert passed.returncode == 0, passed.stdout[-2000:] + passed.stderr[-2000:]
    assert "pool" in passed.stdout
    # The build of the image must fail if tensors cannot be recorded.
    blind = environment(tmp_path, VRAMSTOW_LEVEL="segments")
    failed = subprocess.run(check, env=blind, capture_output=True, check=False, timeout=500)
    assert failed.returncode != 0


@pytest.mark.parametrize("status", [0, 3])
def test_the_slurm_recipe_runs(tmp_path: Path, status: int) -> None:
    """Uses a fake Slurm, on simulated GPUs: traces of all ranks, and one analysis."""
    program(tmp_path, "srun", SRUN)
    program(tmp_path, "scontrol", SCONTROL)
    (tmp_path / "train.py").write_text(TRAIN)
    result = run_program(
        "bash",
        RECIPES / "slurm.sbatch",
        cwd=tmp_path,
        env=environment(
            tmp_path,
            VRAMSTOW_SIMULATE="h100",
            SLURM_JOB_ID="17",
            SLURM_JOB_NODELIST="node[1-2]",
            FAILS=str(status),
        ),
        timeout=120,
    )
    assert result.returncode == status, result.stderr
    traces = tmp_path / "traces/17"
    names = sorted(path.name for path in traces.glob("*.stow"))
    assert [re.sub(r"-\d+\.stow", "", name).rpartition("-")[2] for name in names] == [
        "rank0",
        "rank1",
        "rank2",
    ]
    analysis = json.loads((traces / "analysis.json").read_text())
    assert analysis["input"]["traces"] == 3
    assert analysis["peak"]["allocated_bytes"] == (2 + 2 + 6) * 16 << 20
    assert "rank 2" in (traces / "analysis.txt").read_text()


def test_a_node_on_which_it_will_not_work_stops_the_slurm_recipe(tmp_path: Path) -> None:
    program(tmp_path, "srun", SRUN)
    program(tmp_path, "scontrol", SCONTROL)
    result = run_program(
        "bash",
        RECIPES / "slurm.sbatch",
        cwd=tmp_path,
        env=environment(
            tmp_path,
            VRAMSTOW_SIMULATE="h100,fail=cuMemAlloc:1+:801",
            SLURM_JOB_NODELIST="node[1-2]",
        ),
        timeout=120,
    )
    assert result.returncode == 1
    assert "no memory can be allocated" in result.stdout
    assert not list((tmp_path / "traces").rglob("*.stow"))


@pytest.mark.skipif("VRAMSTOW_LONG_RECIPES" not in os.environ, reason="only in the long run")
@pytest.mark.parametrize("backend", ["gloo"])
def test_the_torchrun_recipe_runs(tmp_path: Path, backend: str) -> None:
    result = run_program(
        "bash",
        RECIPES / "torchrun.sh",
        "2",
        ROOT / "tests/jobs/programs/distributed.py",
        backend,
        cwd=tmp_path,
        env=environment(tmp_path, VRAMSTOW_SIMULATE="h200,count=2", RUNS=str(tmp_path / "runs")),
        timeout=500,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    [folder] = (tmp_path / "runs").iterdir()
    assert len([name for name in folder.iterdir() if "-rank" in name.name]) == 2
    assert "rank 1" in result.stdout
