"""A simulated run computes what the CPU computes, without other allocations."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from built import ROOT
from jobs_conftest import EXAMPLES, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAMS = Path(__file__).parent / "programs"
JOBS = ROOT / "tests/jobs"
CARD = "h200"  # values=decide is the default


def test_operations_on_small_tensors_give_what_the_cpu_gives(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, PROGRAMS / "run_operations.py", card=CARD, timeout=600)
    assert job.status == 0, job.err[-4000:]
    found: dict[str, str] = json.loads(job.out.splitlines()[-1])
    # Older releases of PyTorch have no CPU kernels for some types.
    compared = {name: why for name, why in found.items() if not why.startswith("not on the CPU: ")}
    assert len(compared) >= 300
    wrong = {name: why for name, why in compared.items() if why}
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())


GRAPH_NETWORK = """
import torch
junk = torch.full((1 << 20,), 7.0, device="cuda")
del junk
places = torch.arange(200, device="cuda").reshape(2, 100)
edges = torch.sparse_coo_tensor(places, torch.ones(100, device="cuda"), (200, 200)).coalesce()
layer = torch.nn.Linear(16, 8).cuda()
out = torch.sparse.mm(edges, layer(torch.randn(200, 16, device="cuda")))
(edges.to_sparse_csr() @ out).sum().backward()
print(edges._nnz(), tuple(out.shape), tuple(layer.weight.grad.shape))
"""


@pytest.mark.parametrize("values", ["decide", "off"])
def test_a_sparse_graph_has_its_sizes(rehearse: Rehearse, python: str, values: str) -> None:
    job = rehearse(python, "-W", "ignore", "-c", GRAPH_NETWORK, card=f"{CARD},values={values}")
    assert job.status == 0, job.err[-4000:]
    assert "100 (200, 8) (8, 16)" in job.out, job.out + job.err[-2000:]


@pytest.mark.parametrize("pool", ["on", "off"])
def test_a_tensor_can_be_printed(
    rehearse: Rehearse, python: str, pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VRAMSTOW_POOL", pool)
    program = "import torch; print(torch.arange(9.0, device='cuda').reshape(3, 3) / 2)"
    job = rehearse(python, "-c", program, card=CARD)
    assert job.status == 0, job.err[-4000:]
    assert "[3.0000, 3.5000, 4.0000]" in job.out, job.out


def test_an_index_out_of_range_is_an_assertion_of_the_card(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
rows = torch.ones(4, 2, device="cuda")
try:
    print(rows[torch.tensor([1, 7], device="cuda")].sum().item())
except RuntimeError as error:
    print("refused", "assert" in str(error).lower())
"""
    job = rehearse(python, "-c", program, card=CARD)
    assert "refused True" in job.out, job.out + job.err[-2000:]


def test_a_captured_graph_computes_at_each_replay(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
x = torch.ones(4, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    y = (x * 2).cumsum(0)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = (x * 2).cumsum(0)
for start in (1.0, 3.0):
    x.fill_(start)
    graph.replay()
    print(y.tolist())
"""
    job = rehearse(python, "-c", program, card=CARD)
    assert job.status == 0, job.err[-4000:]
    assert job.out.splitlines() == ["[2.0, 4.0, 6.0, 8.0]", "[6.0, 12.0, 18.0, 24.0]"]


def test_what_is_too_large_reads_as_zeros(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
x = torch.ones(1 << 20, device="cuda")
torch.cuda.synchronize()
print((x + 1)[:3].tolist(), (x[:3] + 1).tolist())
"""
    job = rehearse(python, "-c", program, card="h200,emulation=64KiB,allowance=0")
    assert job.status == 0, job.err[-4000:]
    assert job.out.strip() == "[0.0, 0.0, 0.0] [1.0, 1.0, 1.0]", job.out


def test_zeros_take_nothing_of_the_allowance(rehearse: Rehearse, python: str) -> None:
    program = """
import torch
gradients = [torch.ones(1 << 20, device="cuda") for _ in range(2)]
for _ in range(16):
    gradients[0].zero_()
    torch._foreach_zero_(gradients)
    fresh = torch.zeros(1 << 20, device="cuda")
spread = torch.ones(512, 4096, device="cuda")
spread[:, ::2].zero_()  # with gaps: these are computed
print(gradients[1].count_nonzero().item(), (fresh + 1).sum().item(), spread.sum().item())
"""
    job = rehearse(python, "-c", program, card="h200,emulation=64KiB,allowance=96MiB")
    assert job.status == 0, job.err[-4000:]
    assert job.out.strip() == f"0 {1 << 20}.0 {1 << 20}.0", job.out
    assert "not computed" not in job.err


def calls_of(job: Rehearsal) -> list[tuple[str, str, str, str]]:
    """Returns every call of a simulated run about device memory, without its time."""
    (call_log,) = [path for path in job.call_logs if path.stat().st_size > 200]
    with call_log.open() as file:
        return [
            (row["call"], row["bytes"], row["result"], row["device"])
            for row in csv.DictReader(file)
            # Events of host memory are left out, because the data loader's thread pins host memory
            # at arbitrary times.
            if row["device"] != "-1"
        ]


# The jobs of tests/jobs and the examples: the file, its arguments, and the number of GPUs.
OFTEN: list[tuple[Path, tuple[str, ...], int]] = [
    (EXAMPLES / "lstm.py", ("--steps", "2"), 1),
    (EXAMPLES / "cuda_graph.py", ("--steps", "3"), 1),
    (JOBS / "programs/two_devices.py", (), 2),
    (JOBS / "programs/two_streams.py", (), 1),
    (JOBS / "programs/train_transformer.py", ("foreach",), 1),
]
SELDOM: list[tuple[Path, tuple[str, ...], int]] = [
    (EXAMPLES / "transformer.py", ("--steps", "2"), 1),
    (EXAMPLES / "mlp.py", ("--steps", "3"), 1),
    (EXAMPLES / "convnet.py", ("--steps", "2"), 1),
    (EXAMPLES / "convnet.py", ("--steps", "2", "--channels-last", "--bfloat16"), 1),
    (EXAMPLES / "attention.py", ("--steps", "1"), 1),
    (JOBS / "programs/async_graph.py", (), 1),
    (JOBS / "programs/memory_pools.py", (), 1),
    (JOBS / "programs/data_workers.py", (), 1),
    (JOBS / "programs/train_like_cpu.py", ("AdamW",), 1),
    (JOBS / "programs/train_transformer.py", ("fused",), 1),
]
SAME = OFTEN + [pytest.param(job, marks=pytest.mark.long) for job in SELDOM]


@pytest.mark.parametrize("job", SAME, ids=lambda job: " ".join([job[0].stem, *job[1]]))
def test_allocations_are_those_of_a_rehearsal_without_values(
    rehearse: Rehearse, python: str, tmp_path: Path, job: tuple[Path, tuple[str, ...], int]
) -> None:
    script, arguments, cards = job
    with_values = calls_of(rehearse(python, script, *arguments, card=f"h200,count={cards}"))
    for left in tmp_path.iterdir():
        left.unlink()
    card = f"h200,values=off,count={cards}"
    without = calls_of(rehearse(python, script, *arguments, card=card))
    assert with_values
    assert with_values == without


ON_THE_SECOND_CARD = """
import ctypes
import torch

driver = ctypes.CDLL("libcuda.so.1")


def contexts():
    states = []
    for card in range(2):
        flags, active = ctypes.c_uint(), ctypes.c_int()
        driver.cuDevicePrimaryCtxGetState(card, ctypes.byref(flags), ctypes.byref(active))
        states.append(active.value)
    return states


data = torch.arange(1000.0).to("cuda:1")
filled = torch.empty(1000, device="cuda:1").fill_(3)
print(((data @ filled) / 3).item(), (data < 7).nonzero().numel(), contexts())
torch.randn(1000, device="cuda:1")
with torch.cuda.device(1):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = filled * 2
    graph.replay()
print(doubled.sum().item(), contexts(), torch.cuda.current_device())
here = data.to("cuda:0")
print(here.sum().item(), torch.equal(here.to("cuda:1"), data), contexts())
"""


# The program uses only the second GPU, while the first one is the current GPU. The first one must
# get no context.
def test_a_card_gets_no_context_because_another_one_computes(
    rehearse: Rehearse, python: str
) -> None:
    job = rehearse(python, "-c", ON_THE_SECOND_CARD, card="h200,count=2")
    assert job.status == 0, job.err[-4000:]
    assert job.out.splitlines() == [
        "499500.0 7 [0, 1]",
        "6000.0 [0, 1] 0",
        "499500.0 True [1, 1]",
    ]


@pytest.mark.parametrize("option", ["values=off", "contents=discard", "emulation=off"])
def test_printing_ends_where_nothing_is_computed(
    rehearse: Rehearse, python: str, option: str
) -> None:
    program = """
import torch
torch.arange(5000.0).cuda()  # what lies in device memory afterwards
print(torch.randn(3, 3, device="cuda"))
"""
    job = rehearse(python, "-c", program, card=f"h200,{option}", timeout=120)
    assert job.status == 0, job.err[-4000:]
    assert job.out.startswith("tensor("), job.out


PRODUCTS_LEFT_OUT = "h200,gemm=32MFLOP"


@pytest.mark.usefixtures("lines_can_be_read")
def test_a_text_that_a_library_compiled_is_not_named_as_where_a_value_was_read(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    script = tmp_path / "job.py"
    script.write_text("""
import torch
text = "def loop(x):\\n    return x.mean().item()\\n"
exec(text)
product = torch.ones(2000, 2000, device="cuda") @ torch.ones(2000, 2000, device="cuda")
print(loop(product))
""")
    job = rehearse(python, script, card=PRODUCTS_LEFT_OUT)
    assert job.status == 0, job.err[-4000:]
    assert "result of mm that was not computed" in job.err, job.err
    assert "/job.py:6 <module>)" in job.err, job.err
    script.write_text("""
import io
import torch
a = torch.ones(2000, 2000, device="cuda") @ torch.ones(2000, 2000, device="cuda")
torch.save(a, io.BytesIO())
""")
    job = rehearse(python, script, card=PRODUCTS_LEFT_OUT)
    assert job.status == 0, job.err[-4000:]
    assert "/job.py:5 <module>)" in job.err, job.err


@pytest.mark.usefixtures("lines_can_be_read")
def test_what_was_read_and_not_computed_is_summed_up_once(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    script = tmp_path / "job.py"
    script.write_text("""
import torch
def score(x):
    return x.mean().item()
product = torch.ones(2000, 2000, device="cuda") @ torch.ones(2000, 2000, device="cuda")
print(score(torch.ones(9, device="cuda")))
for _ in range(3):
    score(product)
print(product)
""")
    job = rehearse(python, script, card=PRODUCTS_LEFT_OUT)
    assert job.status == 0, job.err[-4000:]
    assert job.out.startswith("1.0\ntensor("), job.out
    # The warning is printed when the value is read, and again at the beginning of the summary.
    lines = job.err.splitlines()
    at_once, again = (i for i, line in enumerate(lines) if "not computed" in line)
    assert re.fullmatch(
        r"vramstow: the program read a result of mm that was not computed: the value is not valid, "
        r"and decisions that depend on it may differ from those on a real GPU "
        r"\(.*/job.py:4 score\); values=all in --simulate computes it\.",
        lines[at_once],
    ), lines[at_once]
    assert lines[again - 1].startswith("vramstow: SIMULATED RUN"), lines
    assert re.fullmatch(
        r"  not valid +the program read \d+ values that were not computed, the first of mm in "
        r".*/job.py:4 score: decisions that depend on them may differ on a real GPU; "
        r"values=all in --simulate computes it",
        lines[again],
    ), lines[again]
    assert "exact" not in job.err
    assert (
        "not computed"
        not in rehearse(python, "-c", "import torch; print(torch.ones(1).cuda())").err
    )


def test_a_loop_that_waits_for_what_is_not_computed_is_ended_with_a_sentence(
    rehearse: Rehearse, python: str
) -> None:
    program = """
import torch
x = torch.ones(2000, 2000, device="cuda")
product = x @ x
while product[0, 0].item() < 2000:
    pass
"""
    job = rehearse(python, "-c", program, card=PRODUCTS_LEFT_OUT, timeout=240)
    assert job.status == 1, job.err[-4000:]
    assert "the program waits for a result of mm, which is not computed here" in job.err
    assert "timed out" in job.err


# The program is modelled on a library for metric learning. Sizes depend on the mined pairs and grow
# from step to step, and each size follows from all values that were computed before.
@pytest.mark.parametrize(
    "arguments", [("64",), pytest.param(("16", "4", "256", "512"), marks=pytest.mark.long)]
)
def test_pairs_that_are_mined_have_the_sizes_that_they_have_where_all_is_computed(
    rehearse: Rehearse, python: str, arguments: tuple[str, ...]
) -> None:
    program = PROGRAMS / "mined_pairs.py"
    everything = rehearse(python, program, *arguments, card=f"{CARD},values=all")
    assert everything.status == 0, everything.err[-4000:]
    by_default = rehearse(python, program, *arguments, card=CARD)
    assert by_default.status == 0, by_default.err[-4000:]
    assert len(by_default.out.splitlines()) == 4
    assert by_default.out == everything.out, by_default.err
    assert "not exact" not in by_default.err
    assert "not computed" not in by_default.err


NOTES = re.compile(r".*(?:not computed|not exact|not valid).*")


def test_a_size_that_is_made_up_is_told_and_ends_no_job(
    rehearse: Rehearse, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = []
    for pool in ("off", "on"):
        monkeypatch.setenv("VRAMSTOW_POOL", pool)
        # If the values were zeros, all pairs would be mined: 4,096 positives by 61,440 negatives.
        card = f"{CARD},memory=3GiB,gemm=1MFLOP,allowance=0"
        job = rehearse(python, PROGRAMS / "mined_pairs.py", "16", card=card)
        assert job.status == 0, job.err[-4000:]
        assert "0 256 256 " in job.out
        notes.append(NOTES.findall(job.err))
    (at_once, again) = notes[0]
    assert "a size depends on a result of addmm that was not computed" in at_once
    assert "not exact    a size depended " in again
    assert notes[0] == notes[1]


def test_a_mask_that_is_not_computed_has_the_size_that_it_had_before(
    rehearse: Rehearse, python: str
) -> None:
    program = """
import torch
ones = torch.ones(256, 256, device="cuda")
known = torch.ones(256, 256, device="cuda")
known.view(-1)[:100] = 0
for scores in (known, ones @ ones):
    mask = (scores + 1) * 2 - 1 < 1.5
    print(len(mask.nonzero()), len(scores[mask]))
"""
    job = rehearse(python, "-c", program, card=f"{CARD},gemm=1MFLOP,allowance=0")
    assert job.status == 0, job.err[-4000:]
    assert "a size depends on a result of mm that was not computed" in job.err
    assert job.out.splitlines() == ["100 100", "100 100"], job.out


def test_without_a_compiler_a_sentence_says_so_and_the_rehearsal_goes_on(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    bare = {"PATH": "/nowhere", "CXX": "", "VRAMSTOW_ADAPTER_DIR": str(cache)}
    program = "import torch; print(torch.ones(4, device='cuda').sum().item())"
    job = rehearse(python, "-c", program, env=bare)
    assert job.status == 0, job.err[-4000:]
    assert job.out == "0.0\n"
    (line,) = [
        line for line in job.err.splitlines() if "does not compute PyTorch's operators" in line
    ]
    assert "compiler" in line, line
