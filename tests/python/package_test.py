"""Tests the package's numbers, tracking, annotations and reports, without any framework."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built import ROOT, VRAMSTOW, facts_of, run_program, run_vramstow
from conftest import Ran

Run = Callable[..., Ran]


# The beginning of a program with a stand-in for a tensor of PyTorch.
TENSOR = """
import device, vramstow
from device import MIB

class Tensor:
    is_cuda = True
    grad = None
    def __init__(self, size):
        self.size = size
        self.address = device.allocate(size)
    def untyped_storage(self):
        return self
    def data_ptr(self):
        return self.address
    def nbytes(self):
        return self.size
"""


def said(done: Ran) -> list[str]:
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def test_without_vramstow_questions_give_nothing_and_orders_do_nothing(run: Run) -> None:
    program = """
import vramstow
assert vramstow.version() is None and vramstow.stats() is None and not vramstow.active()
assert vramstow.blocks() == [] and vramstow.empty_cache() == 0
assert not vramstow.set_limit(1) and not vramstow.on_pressure(print)
assert not vramstow.no_more_pressure(print) and not vramstow.reset_peaks()
assert not vramstow.mark("a") and not vramstow.iteration(1)
with vramstow.range("r"), vramstow.track("t") as t:
    pass
print(t)
print(vramstow.why_not())
"""
    tracked, why = said(run(program, plain=True))
    assert "vramstow is not preloaded into this process: start it with vramstow run" in why
    assert tracked == f"t: not known ({why})"


def test_the_package_has_the_version_of_its_project(run: Run) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [version] = re.findall(r'^version = "(.*)"', project, re.MULTILINE)
    ran = run("import vramstow; print(vramstow.__version__)", plain=True)
    assert ran.stdout == f"{version}\n"


def test_the_package_can_be_run_as_the_program() -> None:
    root = Path(__file__).resolve().parents[2]
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root / "python")}
    command = [sys.executable, "-m", "vramstow", "--version"]
    env = settings | {"VRAMSTOW_PROGRAM": str(VRAMSTOW)}
    told = run_program(*command, env=env)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("vramstow ")
    none = run_program(*command, env=settings | {"PATH": "/nowhere"})
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr.startswith("vramstow: the program vramstow was not found: install")
    assert "Traceback" not in none.stderr


def test_scalars_for_logs_are_the_pools_numbers(run: Run) -> None:
    program = """
import device, vramstow
from device import MIB
assert vramstow.scalars() == {}
class Writer:
    said = []
    def add_scalar(self, tag, value, step): self.said.append((tag, value, step))
    def add_text(self, tag, text, step): self.said.append((tag, text, step))
vramstow.add_scalars(Writer(), 1)
assert Writer.said == []
kept = device.allocate(4 * MIB)
device.free(device.allocate(32 * MIB))
numbers, stats = vramstow.scalars(), vramstow.stats()
assert numbers["vramstow/allocated_bytes"] == stats.allocated_bytes == 4 * MIB
assert numbers["vramstow/peak_allocated_bytes"] == 36 * MIB
assert numbers["vramstow/reserved_over_allocated"] == stats.peak_reserved_bytes / (36 * MIB)
assert all(isinstance(value, float) for value in numbers.values())
assert set(vramstow.scalars(prefix="x.")) == {"x." + name.split("/")[1] for name in numbers}
vramstow.add_scalars(Writer(), 7)
assert Writer.said == [(name, value, 7) for name, value in numbers.items()]
vramstow.add_report(Writer(), vramstow.report(), 8)
tag, text, step = Writer.said[-1]
assert (tag, step) == ("vramstow/report", 8) and "36.0 MiB" in text
"""
    assert said(run(program, "--pool=on")) == []


def test_without_pool_and_pytorch_it_says_that_nothing_is_counted(run: Run) -> None:
    program = """
import device, vramstow
device.allocate(device.MIB)
print(vramstow.stats(), vramstow.why_not())
"""
    (line,) = said(run(program))
    assert line.startswith("None no device memory of PyTorch is recorded in this process")
    (line,) = said(run(program, "--no-trace"))
    assert line == (
        "None nothing is recorded in this process: leave --no-trace out, or add --pool=on"
    )
    (line,) = said(run(program, "--level=segments"))
    assert line.startswith("None PyTorch's tensors are not observed in this process: leave --level")


def test_tracks_tell_what_stays_what_was_needed_and_what_is_new(run: Run) -> None:
    program = """
import device, vramstow
from device import MIB
print(vramstow.why_not())
kept = device.allocate(4 * MIB)
with vramstow.track("outer") as outer:
    with vramstow.track("inner") as inner:
        device.free(device.allocate(32 * MIB))
    small, large = device.allocate(2 * MIB), device.allocate(8 * MIB)
assert inner.allocated_bytes == 0 and inner.peak_bytes == 36 * MIB and not inner.new_blocks
assert inner.added_peak_bytes == 32 * MIB and inner.allocations == 1
assert outer.allocated_bytes == 10 * MIB and outer.peak_bytes == 36 * MIB, outer.peak_bytes
assert [b.address for b in outer.new_blocks] == [large, small]
assert outer.before.live_blocks == 1 and outer.after.live_blocks == 3
assert [b.size_bytes for b in vramstow.blocks()] == [8 * MIB, 4 * MIB, 2 * MIB]
assert vramstow.blocks(3) == []
print(outer)

@vramstow.track("called")
def called(depth):
    device.allocate(MIB)
    return called(depth - 1) if depth else "result"
assert called(2) == "result"
try:
    with vramstow.track("raises") as raises:
        device.allocate(MIB)
        raise KeyError
except KeyError:
    assert raises.allocated_bytes == MIB
assert vramstow.empty_cache() > 0 and vramstow.empty_cache() == 0
"""
    early, outer = said(run(program, "--pool=on"))
    assert early.startswith("vramstow's pool has served no memory yet")
    assert outer.startswith("outer: +10.0 MiB allocated, ")
    assert outer.endswith("3 allocations; largest new blocks 8.0 MiB, 2.0 MiB")


def test_a_callback_gives_memory_back_before_an_allocation_fails(run: Run) -> None:
    program = """
import device, vramstow
from device import MIB
cache = [device.allocate(400 * MIB)]
def drop(lacking):
    print("lacks", lacking > 0, flush=True)
    while cache:
        device.free(cache.pop())
assert vramstow.on_pressure(drop) and vramstow.on_pressure(drop)
device.free(device.allocate(500 * MIB))
assert not cache
assert vramstow.no_more_pressure(drop) and not vramstow.no_more_pressure(drop)
try:
    device.allocate(4000 * MIB)
except MemoryError:
    print("refused")
assert vramstow.set_limit(100 * MIB)
try:
    device.allocate(200 * MIB)
except MemoryError:
    print("limited")
"""
    lines = said(run(program, "--pool=on", card="h200,memory=1GiB"))
    assert lines == ["lacks True", "refused", "limited"]


def test_the_trace_tells_which_line_limits_the_pool(run: Run, tmp_path: Path) -> None:
    program = """
import device, vramstow
from device import MIB
device.allocate(MIB)
assert vramstow.set_limit(100 * MIB)
try:
    device.allocate(200 * MIB)
except MemoryError:
    print("limited")
assert vramstow.set_limit(None)
"""
    assert said(run(program, "--pool=on", card="h200,memory=1GiB")) == ["limited"]
    facts = facts_of(next(tmp_path.glob("*.stow")))["facts"]
    assert facts["device.0.limited_at"].partition(":")[2] == "5 <module>"
    assert facts["device.0.limited_by"] == "vramstow_set_limit()"
    assert facts["device.0.limited_bytes"] == str(100 << 20)


def test_a_device_may_have_its_name_in_pytorch(run: Run) -> None:
    program = """
import device, sys, types, vramstow
device.allocate(device.MIB)
class Named:
    def __init__(self, name):
        self.type, _, index = getattr(name, "name", name).partition(":")
        self.name = name
        self.index = int(index) if index else None
try:
    vramstow.stats("cuda:0")
except TypeError as error:
    print(error)
cuda = types.SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 0)
sys.modules["torch"] = types.SimpleNamespace(device=Named, cuda=cuda)
assert vramstow.stats("cuda:0") == vramstow.stats("cuda") == vramstow.stats(0) is not None
assert vramstow.stats(Named("cuda:1")) is None and vramstow.blocks("cuda:0")
try:
    vramstow.stats("cpu")
except TypeError as error:
    print(error)
"""
    assert said(run(program, "--pool=on")) == [
        "'cuda:0' is no device: give its number, such as 0",
        "'cpu' is no GPU",
    ]


def test_without_the_pool_no_callback_is_registered_because_none_would_be_called(run: Run) -> None:
    program = """
import device, vramstow
device.allocate(device.MIB)
print(vramstow.on_pressure(print), vramstow.no_more_pressure(print))
"""
    assert said(run(program, "--pool=off")) == ["False False"]


def marks(tmp_path: Path) -> str:
    (trace,) = tmp_path.glob("*.stow")
    return run_vramstow("export", trace, "--to", "chrome", check=True).stdout


def test_marks_ranges_and_iterations_are_in_the_trace(run: Run, tmp_path: Path) -> None:
    program = """
import device, vramstow
from device import MIB
device.allocate(MIB)
assert vramstow.mark("be\\0gins \\u00fc")
with vramstow.range("outer range"), vramstow.track("a track"):
    device.allocate(MIB)
windows = []
schedule = vramstow.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
with vramstow.watch(schedule, on_ready=windows.append) as steps:
    for step in range(10):
        device.allocate((step + 1) * MIB)
        steps.step()
assert [w.name for w in windows] == ["steps from 3", "steps from 7"], windows
assert [w.allocated_bytes // MIB for w in windows] == [4 + 5, 8 + 9]
def names(steps, active, failing=False):
    watched = vramstow.watch(vramstow.schedule(active=active))
    try:
        with watched:
            for _ in range(steps):
                watched.step()
            if failing:
                raise KeyError
    except KeyError:
        pass
    return [window.name for window in watched.windows]
kept = []
with vramstow.watch(vramstow.schedule(active=1)) as watched:
    for i in range(3):
        kept.append(device.allocate(MIB))
        if i < 2:
            watched.step()
assert [window.allocations for window in watched.windows] == [1, 1, 1]
# The last step() begins a step that is not run.
assert names(2, active=1) == ["steps from 0", "steps from 1"]
assert names(2, active=2) == ["steps from 0"]
assert names(3, active=2) == ["steps from 0", "steps from 2"]
assert names(2, active=2, failing=True) == ["steps from 0", "steps from 2"]
assert names(0, active=2) == ["steps from 0"]
assert not vramstow.mark("x" * 5000) is None
try:
    vramstow.schedule(active=0)
except ValueError as error:
    print(error)
"""
    (refusal,) = said(run(program, "--pool=on"))
    assert "active 1 or more" in refusal
    text = marks(tmp_path)
    for wanted in ("be gins", "outer range", "a track", "iteration", "steps from 7", "x" * 900):
        assert wanted in text, wanted


def test_what_is_open_when_cuda_is_first_used_is_in_the_trace(run: Run, tmp_path: Path) -> None:
    program = """
import ctypes, threading, vramstow
ctypes.CDLL("libcuda.so.1").cuInit  # import torch looks functions up, too
for i in range(3):
    assert vramstow.iteration(i)
with vramstow.range("ended early"):
    pass
worker = threading.Thread(target=vramstow.mark, args=("of another thread",))
worker.start(), worker.join()
with vramstow.range("load"):
    import device
    from device import MIB
    device.allocate(8 * MIB)
vramstow.iteration(3)
device.allocate(MIB)
"""
    assert said(run(program, "--pool=on")) == []
    text = marks(tmp_path)
    assert "load" in text
    assert "ended early" not in text and "of another thread" not in text
    (trace,) = tmp_path.glob("*.stow")
    for wanted in (["iterations==2"], ["peak_allocated==8MiB", "--within", "load"]):
        run_vramstow("check", trace, "--assert", *wanted, check=True)


def test_a_report_is_text_json_and_a_page(run: Run, tmp_path: Path) -> None:
    said(run("import device; device.allocate(device.MIB)", "--pool=on"))
    program = f"""
import json, vramstow
report = vramstow.report({str(tmp_path)!r})
assert "1.00 MiB" in str(report), str(report)
assert len(report.text(full=True)) > len(report.text())
assert json.loads(report.json())
shown = report._repr_html_()
assert shown.startswith('<iframe srcdoc="&lt;!') and shown.count('"') == 6, shown[:200]
report.save({str(tmp_path / "page.html")!r})
try:
    str(vramstow.report("/nowhere.stow"))
except RuntimeError as error:
    print(error)
try:
    vramstow.Report()
except ValueError as error:
    print(error)
assert vramstow.report() is None
vramstow.add_report(None, vramstow.report())  # nothing is added to the writer
"""
    lines = said(run(program, plain=True))
    assert "/nowhere.stow" in lines[0]
    assert lines[1].startswith("this process has no trace")
    assert (tmp_path / "page.html").read_text().startswith("<!")


def test_a_running_process_reports_of_itself(run: Run) -> None:
    program = """
import os, vramstow
assert vramstow.dump() is None and vramstow.report() is None
import device
kept = device.allocate(3 * device.MIB)
path = vramstow.dump()
assert os.path.exists(path) and path.endswith(".stow"), path
os.unlink(path)
whole = path.replace("-dump", "")
for text in (str(vramstow.report()), vramstow.explain()):
    # The text contains this program, too.
    assert "3.00 MiB" in text and whole in text and "-dump" ".stow" not in text, text
assert not [name for name in os.listdir(os.path.dirname(path)) if "-dump" in name]
print("reported")
"""
    assert said(run(program, "--pool=on")) == ["reported"]
    assert said(run(program)) == ["reported"], "without the pool, too"


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(4096, 4096), ("2 GiB", 2 << 30), ("1.5kib", 1536), ("300 MB", 300_000_000), ("7", 7)],
)
def test_sizes_are_read(size: int | str, wanted: int, run: Run) -> None:
    program = f"from vramstow import sizes; print(sizes.parse({size!r}))"
    assert said(run(program, plain=True)) == [str(wanted)]


def test_other_sizes_are_refused(run: Run) -> None:
    program = """
from vramstow import sizes
for wrong in ("", "GiB", "2 parsecs", -1, None, True, "1e3"):
    try:
        print(sizes.parse(wrong))
    except ValueError as error:
        assert "is not a size" in str(error)
print([sizes.text(n) for n in (0, 1023, 1536, 5 << 30)], sizes.text(-4096), sizes.text(1, True))
"""
    assert said(run(program, plain=True)) == [
        "['0 B', '1023 B', '1.5 KiB', '5.0 GiB'] -4.0 KiB +1 B"
    ]


def test_the_numbers_are_those_of_the_trace(run: Run, tmp_path: Path) -> None:
    program = """
import device, json, vramstow
blocks = [device.allocate(n * 1000) for n in range(1, 200)]
for block in blocks[::2]:
    device.free(block)
stats = vramstow.stats()
listed = vramstow.blocks()
assert len(listed) == stats.live_blocks
assert sum(b.size_bytes for b in listed) == stats.allocated_bytes
assert sum(b.requested_bytes for b in listed) == stats.requested_bytes
print(json.dumps([stats.allocated_bytes, stats.peak_allocated_bytes, stats.allocations]))
"""
    (line,) = said(run(program, "--pool=on"))
    allocated, peak, allocations = json.loads(line)
    facts = facts_of(*tmp_path.glob("*.stow"))
    assert facts["peak"]["allocated_bytes"] == peak
    assert facts["leaks"]["device_bytes"] == allocated
    assert allocations == 199


def test_what_blocks_are_for_is_known_once_it_is_told(run: Run, tmp_path: Path) -> None:
    program = (
        TENSOR
        + """
class Model:
    def __init__(self):
        self.weight = Tensor(4 * MIB)
    def named_parameters(self):
        return [("weight", self.weight)]
    def named_buffers(self):
        return []

class Optimizer:
    def __init__(self):
        self.state, self.hooks, self.param_groups = {}, {}, []
    def register_step_pre_hook(self, hook):
        self.hooks["pre"] = hook
        return self
    def register_step_post_hook(self, hook):
        self.hooks["post"] = hook
        return self
    def remove(self):
        self.hooks.clear()

model, optimizer = Model(), Optimizer()
# An annotation belongs to the block that is live at that moment. Another tensor will reuse this
# address later.
old = Tensor(2 * MIB)
class Wrapper:  # as PyTorch's tensors that stand for others: without memory of its own
    is_cuda = True
    def untyped_storage(self):
        raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")
class Shared(Wrapper):  # as a DTensor: its memory is that of this rank's part
    def detach(self):
        return self
    def to_local(self):
        return old
assert vramstow.annotate_memory("inputs", [old, object(), Wrapper()], "batch") == 1
assert vramstow.annotate_memory("inputs", [Shared()], "batch") == 1
assert vramstow.annotate_memory("inputs", old) == 1  # one tensor, not its rows
try:
    vramstow.annotate_memory("optimizer state", [old])
except ValueError as error:
    print(error)
device.free(old.address)
class Wrapped:  # as accelerate's optimizer, which takes no hooks itself
    param_groups = []
    def __init__(self, optimizer):
        self.optimizer = optimizer
told = vramstow.annotate_parameters(model, Wrapped(Wrapped(optimizer)))
model.weight.grad = Tensor(2 * MIB)
optimizer.hooks["pre"](optimizer, (), {})
optimizer.state["weight"] = {"exp_avg": Tensor(8 * MIB), "step": 3}
optimizer.hooks["post"](optimizer, (), {})
unknown = Tensor(1 * MIB)
told.again()
told.remove()
assert not optimizer.hooks
"""
    )
    # Stacks are off, because they would also show at which source line a model was created.
    (refused,) = said(run(program, "--pool=on", "--stacks=off"))
    assert refused.startswith("'optimizer state' is no category: give one of parameters, ")
    listing = run_vramstow("analyze", "--json", *tmp_path.glob("*.stow"), check=True)
    rows = {row["category"]: row for row in json.loads(listing.stdout)["by_category"]}
    found = {name: row["bytes_at_peak"] >> 20 for name, row in rows.items()}
    assert found == {"parameters": 4, "gradients": 2, "optimizer_state": 8, "unknown": 1}
    assert rows["parameters"]["evidence"] == "reported by the program"
    assert rows["unknown"]["evidence"] == "neither call stack nor lifetime shows the purpose"


def test_an_optimizer_that_has_another_one_is_noted_with_it(run: Run, tmp_path: Path) -> None:
    program = (
        TENSOR
        + """
class Model:
    def named_parameters(self):
        return []
    named_buffers = named_parameters
class Inner:
    param_groups = []
    def __init__(self):
        self.state = {0: {"momentum": Tensor(2 * MIB)}}
class Lookahead(Inner):
    def __init__(self):
        self.state = {0: {"slow": Tensor(8 * MIB)}}
        self.optimizer = Inner()
        self.hooks = 0
    def register_step_pre_hook(self, hook):
        self.hooks += 1
    register_step_post_hook = register_step_pre_hook
class Named(Inner):
    optimizer = "sgd"
lookahead = Lookahead()
vramstow.annotate_parameters(Model(), lookahead)
assert lookahead.hooks == 2
vramstow.annotate_parameters(Model(), Named())
"""
    )
    said(run(program, "--pool=on", "--stacks=off"))
    listing = run_vramstow("analyze", "--json", *tmp_path.glob("*.stow"), check=True)
    rows = {row["category"]: row for row in json.loads(listing.stdout)["by_category"]}
    assert {name: row["bytes_at_peak"] >> 20 for name, row in rows.items()} == {
        "optimizer_state": 12
    }


def test_an_optimizer_without_hooks_has_notes_for_what_exists(run: Run) -> None:
    program = """
import vramstow
class Model:
    def named_parameters(self):
        return []
    named_buffers = named_parameters
class Cyclic:
    param_groups = []
    state = {0: {"step": 3}}
    handles = 0
    @property
    def optimizer(self):
        return self
    def register_step_pre_hook(self, hook):
        self.handles += 1
        return self
    def remove(self):
        self.handles -= 1
cyclic = Cyclic()
vramstow.annotate_parameters(Model(), cyclic).remove()
assert cyclic.handles == 0
vramstow.annotate_parameters(Model(), object()).again()
"""
    assert said(run(program, plain=True)) == []


def test_the_categories_are_those_that_the_analysis_reads(run: Run) -> None:
    source = (ROOT / "tools/analysis/explain/categories.cc").read_text(encoding="utf-8")
    [names] = re.findall(r"kNames = \{([^}]*)\}", source)
    program = "from vramstow import annotations\nprint(*annotations._CATEGORIES, 'unknown')"
    (known,) = said(run(program, plain=True))
    assert known.split() == re.findall(r'"(\w+)"', names)


START = ROOT / "python/start"


def test_an_error_of_the_start_up_hook_holds_no_object_of_the_program(run: Run) -> None:
    # The hook stores the error when the program imports torch, perhaps inside a function.
    program = f"""
import importlib.util, weakref
spec = importlib.util.spec_from_file_location("hook", {str(START / "hook.py")!r})
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)
hook._troubles["LIBRARY"] = OSError("no compiler")
class Model: pass
def main():
    model = Model()
    prepared = hook._Prepared("folder", "LIBRARY")
    try:
        prepared.load("entry")
    except OSError as error:
        print(error)
    return weakref.ref(model), prepared, hook._Census("folder")
model, prepared, census = main()
print(model())
"""
    assert said(run(program, plain=True)) == ["no compiler", "None"]


def test_a_graph_that_is_captured_again_counts_only_its_new_steps(run: Run) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(START)!r})
import steps
class Graph: pass
graphs, graph = steps._Graphs(), Graph()
for text in (b"first", b"second"):
    graphs.begin(graph)
    graphs.capture(text)
    graphs.end()
print(graphs.steps_of(graph))
"""
    assert said(run(program, plain=True)) == ["[b'second']"]


def test_lightning_may_log_nothing(run: Run) -> None:
    pytest.importorskip("lightning.pytorch")
    program = """
from types import SimpleNamespace
from vramstow.lightning import MemoryCallback
trainer = SimpleNamespace(log_every_n_steps=0, global_step=3, loggers=[])
MemoryCallback().on_train_batch_end(trainer, None)
print("done")
"""
    assert said(run(program, plain=True))[-1] == "done"


def test_an_older_pytest_gets_no_plug_in(run: Run) -> None:
    program = """
import pytest
del pytest.StashKey
import vramstow.pytest_entry as entry
print([name for name in dir(entry) if name.startswith("pytest_")])
"""
    assert said(run(program, plain=True)) == ["[]"]


def test_a_program_that_cannot_be_executed_is_not_called_missing(tmp_path: Path) -> None:
    package = tmp_path / "program.py"
    package.write_text((ROOT / "python/vramstow/program.py").read_text())
    ask = [sys.executable, "-c", "import program; program.main()"]
    missing = run_program(*ask, cwd=tmp_path)
    assert missing.returncode == 1 and "is missing: install" in missing.stderr
    program = tmp_path / "native/bin/vramstow"
    program.parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o644)
    done = run_program(*ask, cwd=tmp_path)
    assert done.returncode == 1
    assert f"{program} cannot be executed: the file system is mounted with noexec" in done.stderr
