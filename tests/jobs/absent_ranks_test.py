"""One rank of a job whose other ranks are absent does the same as with all of them."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from built import VRAMSTOW, events_of, run_program, run_vramstow
from conftest import Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAM = Path(__file__).parent / "programs/one_of_many.py"
KINDS = ("allocate", "free", "reserve", "unreserve", "map", "unmap")
IS_LONG = "VRAMSTOW_LONG" in os.environ
AMONG_ALL = [("fsdp", 4), ("mesh", 4), ("pipeline", 4)]
OF_MANY = [("fsdp", 64)]
if IS_LONG:
    AMONG_ALL += [("ddp", 8), ("fsdp", 8), ("tp", 8), ("mesh", 8)]
    OF_MANY += [("mesh", 64), ("fsdp", 1024), ("mesh", 1024)]
WRONG = {
    "h100,world=8,rank=8": "rank=8 is none of world=8: its ranks are 0 to 7.",
    "h100,rank=0": "rank=0 needs world=N: how many ranks the job has.",
    "h100,world=8": "world=8 needs rank=R: which ranks run, such as rank=0.",
    "h100,world=8,nodes=3,rank=0": "nodes=3 does not divide world=8: each machine has as many",
}


def done(ranks: list[int], world: int) -> list[str]:
    return [f"rank {rank} of {world}: done" for rank in ranks]


def said(job: Rehearsal, pattern: str) -> list[str]:
    return sorted(line for line in job.out.splitlines() if re.search(pattern, line))


@pytest.mark.parametrize("kind", ["collectives", "objects", "gloo"])
def test_others_send_what_this_rank_does(rehearse: Rehearse, python: str, kind: str) -> None:
    job = rehearse(python, PROGRAM, kind, card="h100,world=8,rank=0,5")
    assert job.status == 0, job.err[-4000:]
    assert said(job, "done") == done([0, 5], 8)
    assert len(job.traces) == 2
    assert ("leaves the objects unchanged" in job.err) == (kind == "objects")


def test_messages_pass_whatever_is_computed(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAM, "ddp", card="h100,world=1024,rank=3,values=off")
    assert job.status == 0, job.err[-4000:]
    assert said(job, "done") == done([3], 1024)
    assert job.assert_trace_equals_call_log() > 0


def test_offload_hears_of_collectives_whatever_is_computed(rehearse: Rehearse, python: str) -> None:
    """vramstow's hooks come first, and NCCL gets the arguments that PyTorch passed."""
    settings = {"VRAMSTOW_POOL": "on", "VRAMSTOW_OFFLOAD": "auto,host=1GiB,touches"}
    for card in ("h100,world=8,rank=0,values=off", "h100,world=8,rank=0"):
        for kind in ("ddp", "fsdp"):
            job = rehearse(python, PROGRAM, kind, card=card, env=settings)
            assert job.status == 0, job.err[-4000:]
            assert said(job, "done") == done([0], 8)


@pytest.mark.parametrize(("kind", "world"), AMONG_ALL)
def test_one_rank_takes_what_it_takes_among_all(
    rehearse: Rehearse, python: str, kind: str, world: int
) -> None:
    """Compares every event of the device; for a pipeline only the peak."""
    some = [0, world - 1]
    launcher = [python, "-m", "torch.distributed.run", "--nproc-per-node", str(world)]
    job = [*launcher, "--standalone", PROGRAM, kind]
    together = rehearse(*job, card=f"h100,count={world}", timeout=1800)
    assert together.status == 0, together.err[-4000:]
    among_all = {rank: device_events_of(trace) for rank, trace in by_rank(together).items()}
    assert sorted(among_all) == list(range(world))
    for trace in together.traces:
        trace.unlink()
    card = f"h100,world={world},rank={some[0]},{some[1]}"
    alone = rehearse(*job, card=card, timeout=900)
    assert alone.status == 0, alone.err[-4000:]
    assert said(alone, "done") == done(some, world)
    for rank in some:
        assert said(alone, f"^rank {rank} step") == said(together, f"^rank {rank} step")
        found, expected = device_events_of(by_rank(alone)[rank]), among_all[rank]
        assert len(found) > 20
        if kind == "pipeline":
            # The stages of a pipeline send each other the shapes of their tensors. Each message
            # needs a small tensor, so the peaks may differ a little.
            assert abs(peak_of(found) - peak_of(expected)) <= 4096
        else:
            assert found == expected


@pytest.mark.parametrize(("kind", "world"), OF_MANY)
def test_first_and_last_of_many_ranks_take_the_same(
    rehearse: Rehearse, python: str, kind: str, world: int
) -> None:
    some = [0, world - 1]
    card = f"h100,world={world},rank={some[0]},{some[1]},values=off"
    job = rehearse(python, PROGRAM, kind, *("2048", "2", "2"), card=card, timeout=900)
    assert job.status == 0, job.err[-4000:]
    assert said(job, "done") == done(some, world)
    first, last = (device_events_of(by_rank(job)[rank]) for rank in some)
    assert len(first) > 20
    assert first == last
    # Each of the two layers allocates its weight, its gradient and two moments of the optimizer.
    # Each of these is this rank's share of 2048 x 2048 numbers.
    share = 2048 * 2048 * 4 // (world if kind == "fsdp" else world // 2 * 2)
    assert sum(("allocate", str(max(share, 512))) == (row[0], row[2]) for row in first) >= 8


def peak_of(events: list[tuple[str, ...]]) -> int:
    """Returns the peak of the bytes of all live blocks."""
    level = peak = 0
    for kind, _, _, size in events:
        level += int(size) if kind == "allocate" else -int(size) if kind == "free" else 0
        peak = max(peak, level)
    return peak


def by_rank(job: Rehearsal) -> dict[int, Path]:
    found = {}
    for trace in job.traces:
        # The launcher leaves a trace of its own, which is empty.
        number = re.match(r"one_of_many-.*-rank(\d+)-", trace.name)
        if number is not None:
            found[int(number.group(1))] = trace
    return found


def device_events_of(trace: Path) -> list[tuple[str, ...]]:
    """Returns the device's allocations and frees: tensors and requests to the driver.

    Pinned memory is left out. PyTorch caches it, so its requests depend on the work that has
    finished.
    """
    told = ("kind", "call", "requested", "size")
    return [
        tuple(row[name] for name in told)
        for row in events_of(trace)
        if row["kind"] in KINDS and row["memory"] != "host_pinned"
    ]


def test_what_is_wrong_with_a_job_is_said_in_one_sentence(python: str) -> None:
    for spec, sentence in WRONG.items():
        refused = run_vramstow("run", f"--simulate={spec}", "--", python, "-c", "pass")
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"vramstow run: simulated card: {sentence}")
        assert refused.stderr.count("\n") == 1


def test_a_rank_that_fails_is_named_and_its_status_is_the_jobs(rehearse: Rehearse) -> None:
    job = rehearse("sh", "-c", 'exit "$LOCAL_RANK"', card="h100,world=16,rank=8,11")
    assert job.status == 3
    assert "rank 11 ended with status 3." in job.err
    assert os.environ.get("RANK") is None


# Minimal versions of DeepSpeed's modules, with the names that vramstow uses.
DEEPSPEED = {
    "launcher/runner.py": """
        import argparse

        def parse_args(args=None):
            parser = argparse.ArgumentParser()
            parser.add_argument("--num_gpus", type=int, default=-1)
            parser.add_argument("--num_nodes", type=int, default=-1)
            parser.add_argument("--autotuning", default="")
            parser.add_argument("--module", action="store_true")
            parser.add_argument("--no_python", action="store_true")
            parser.add_argument("--no_local_rank", action="store_true")
            parser.add_argument("user_script")
            parser.add_argument("user_args", nargs=argparse.REMAINDER)
            return parser.parse_args(args)

        def main(args=None):
            raise SystemExit("it would start a process for each card")
        """,
    "runtime/zero/utils.py": """
        def get_lst_from_rank0(lst):
            return [-1] * len(lst)  # a broadcast would replace them

        def assert_lst_len_same_as_other_ranks(lst):
            if lst == ["short of memory"]:
                raise RuntimeError("out of memory")
            raise RuntimeError("Detected a disagreement on list length")

        def assert_ints_same_as_other_ranks(ints):
            assert_lst_len_same_as_other_ranks(ints)
            if get_lst_from_rank0(ints) != ints:
                raise RuntimeError("Detected a disagreement on list contents")
        """,
}


def stand_in_for_deepspeed(folder: Path) -> None:
    for name, text in DEEPSPEED.items():
        file = folder / "deepspeed" / name
        file.parent.mkdir(parents=True)
        file.write_text(textwrap.dedent(text))


def test_the_launcher_of_deepspeed_becomes_the_script(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    stand_in_for_deepspeed(tmp_path)
    script = tmp_path / "train.py"
    script.write_text("import os, sys; print(os.environ['RANK'], sys.argv[1:])")
    launch = "import deepspeed.launcher.runner as runner; runner.main()"
    job = rehearse(
        *(python, "-c", launch, "--num_gpus", "4", script, "--config", "zero.json"),
        card="h100,world=64,rank=13",
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert job.out.split("\n") == ["13 ['--local_rank=5', '--config', 'zero.json']", ""], job.err
    assert "the launcher requests 4 ranks on a machine; the job is simulated with 8" in job.err
    refused = rehearse(
        *(python, "-c", launch, "--autotuning", "run", script),
        card="h100,world=64,rank=13",
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert (refused.status, refused.out) == (2, "")
    assert "leave --autotuning out" in refused.err


def test_the_launcher_of_torch_becomes_the_script_and_is_no_rank(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import os, sys, torch\n"
        "print(os.environ['LOCAL_RANK'], sys.argv[1:], torch.ones(2, device='cuda').device)\n"
        "torch.cuda.set_device(0)\n"
    )
    # The launcher queries the number of GPUs, so it leaves a trace of its own. A launcher that is
    # called as torch.distributed.launch passes the rank to the script as an argument.
    launcher = ("-m", "torch.distributed.launch", "--nproc-per-node", "gpu", "--virtual-local-rank")
    job = rehearse(python, *launcher, script, "--batch", "2", card="h100,world=8,rank=5")
    assert job.out == "0 ['--local-rank=5', '--batch', '2'] cuda:0\n", job.err
    assert "  ranks        rank 5 of 8 ran alone: it cannot show" in job.err
    assert "processes" not in job.err


def test_lists_of_a_rank_0_that_is_not_there_agree(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    stand_in_for_deepspeed(tmp_path)
    check = """if True:
        from deepspeed.runtime.zero import utils
        utils.assert_ints_same_as_other_ranks([1, 2])
        try:
            utils.assert_ints_same_as_other_ranks(["short of memory"])
        except RuntimeError as error:
            print(error)
        """
    job = rehearse(
        *(python, "-c", check), card="h100,world=8,rank=3", env={"PYTHONPATH": str(tmp_path)}
    )
    assert (job.status, job.out) == (0, "out of memory\n"), job.err


def test_ranks_that_a_program_starts_itself_are_told_of(rehearse: Rehearse, python: str) -> None:
    joins = """if True:
        import torch.distributed as dist
        dist.init_process_group("gloo", rank=1, world_size=2, init_method="tcp://127.0.0.1:1")
        print(dist.is_torchelastic_launched())
        """
    job = rehearse(python, "-c", joins, card="h100,world=8,rank=0")
    assert (job.status, job.out) == (0, "True\n"), job.err
    said = (
        "this process joins as rank 1 of 2, but the simulated GPU is set up for rank=0 of world=8:"
    )
    assert job.err.count(said) == 1


@pytest.mark.parametrize("launcher", ["mpirun", "/usr/bin/srun"])
def test_a_launcher_that_would_start_all_ranks_is_left_out(launcher: str) -> None:
    refused = run_program(
        *(VRAMSTOW, "run", "--simulate=h100,world=8,rank=0,3", "--", launcher),
        *("-n", "8", "python3", "train.py", "--batch", "2"),
    )
    assert refused.returncode == 2
    assert refused.stderr == (
        "vramstow run: with world= vramstow starts the ranks itself, and "
        f"{Path(launcher).name} would start each of them many times: leave it out (vramstow run "
        "--simulate=h100,world=8,rank=0,3 -- python3 train.py --batch 2).\n"
    )


def test_other_launchers_variables_are_renewed_where_they_are_set(rehearse: Rehearse) -> None:
    around = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "OMPI_COMM_WORLD_RANK": "9"}
    names = (
        "SLURM_PROCID SLURM_NTASKS SLURM_LOCALID SLURM_NODEID SLURM_NNODES OMPI_COMM_WORLD_RANK "
        "OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK PMI_RANK"
    )
    show = "echo " + " ".join(f"${{{name}-none}}" for name in names.split())
    job = rehearse("sh", "-c", show, card="h100,world=64,rank=13", env=around)
    assert job.out.split() == ["13", "64", "5", "1", "8", "13", "64", "5", "none"]


def test_variables_of_a_launcher_are_told(rehearse: Rehearse) -> None:
    names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT"
    show = "; ".join(f"echo {name}=${name}" for name in names.split())
    job = rehearse("sh", "-c", show, card="h100,world=256,rank=255", env={"MASTER_PORT": "1"})
    assert job.out.split() == [
        *("RANK=255", "WORLD_SIZE=256", "LOCAL_RANK=7", "LOCAL_WORLD_SIZE=8", "GROUP_RANK=31"),
        *("MASTER_ADDR=127.0.0.1", "MASTER_PORT=1"),
    ]
