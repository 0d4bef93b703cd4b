"""Each technique has its certain effects, and the page is made only from their facts."""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import page
import pytest
from built import ROOT, Ran, run_program
from directions import FALLS, STAYS, wrong
from facts import flags_of, why_left_out
from technique import BadTechniqueError, every, read

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

PAGE = ROOT / "docs/techniques.md"
# Techniques for which it is not checked that a peak falls or stays equal; `wrong` has special
# checks for them.
SPECIAL = {"batch_size", "fragmentation", "grad_scaler", "pruning_by_mask", "vramstow_offload"}


def measure(output: Path, *arguments: str) -> tuple[Ran, Any]:
    """Starts the runner; returns the contents of facts.json."""
    done = run_program(sys.executable, ROOT / "examples/measure", "--output", output, *arguments)
    left = output / "facts.json"
    return done, json.loads(left.read_text()) if left.exists() else None


def test_what_is_certain_is_known_of_every_technique() -> None:
    assert {one.name for one in every()} == FALLS | STAYS | SPECIAL


def test_a_handful_shows_what_is_certain(tmp_path: Path) -> None:
    names = ["no_grad", "pruning_by_mask", "fragmentation"]
    done, facts = measure(tmp_path, "--quick", *names)
    assert done.returncode == 0, done.stderr
    assert sorted(facts["techniques"]) == sorted(names)
    assert not [
        text for name in names for text in wrong(name, facts["techniques"][name]["variants"])
    ]
    text = (tmp_path / "techniques.md").read_text()
    assert "pieces, the largest" in text, "the report says why memory ran out"
    assert "Run on a simulated h200." in text


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    other = os.open(tmp_path / "techniques.lock", os.O_WRONLY | os.O_CREAT, 0o666)
    fcntl.flock(other, fcntl.LOCK_EX)
    done, facts = measure(tmp_path, "--quick", "no_grad")
    os.close(other)
    assert (done.returncode, facts) == (1, None)
    assert f"another run uses {tmp_path}/techniques; start this one again" in done.stderr


def test_a_relative_folder_is_one_of_the_caller(tmp_path: Path) -> None:
    program = ("env", f"CALLED_FROM={tmp_path}", sys.executable, ROOT / "examples/measure")
    done = run_program(*program, "--page", "--output", "out", cwd=ROOT)
    assert f"there is no {tmp_path}/out/facts.json" in done.stderr


def row_of(name: str, folder: Path) -> str:
    lines = (folder / "techniques.md").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"| [{name}]"))


def test_techniques_that_fail_are_rows_and_stop_no_other(tmp_path: Path) -> None:
    done, facts = measure(tmp_path, "--quick", "--simulate=no-such-card", "no_grad", "counters")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "examples/run techniques: 2 of 2 techniques failed."
    for name in ("no_grad", "counters"):
        assert "no-such-card" in facts["techniques"][name]["failed"]
        assert "**failed**" in row_of(name, tmp_path)


def test_a_real_gpu_is_as_small_as_the_simulated_one_or_the_technique_is_left_out() -> None:
    known = {one.name: one for one in every()}
    offload, fragmentation = known["vramstow_offload"], known["fragmentation"]
    for variant in offload.variants:
        assert "--limit=1GiB" in flags_of(offload, variant, "")
        assert "--limit=1GiB" not in flags_of(offload, variant, "h200")
    assert why_left_out(offload, "") == ""
    assert why_left_out(fragmentation, "h200") == ""
    why = why_left_out(fragmentation, "")
    assert "its variant `before` must run out of memory" in why
    shown = {"simulate": "", "device": "A GPU", "techniques": {"fragmentation": {"left_out": why}}}
    text = page.render([fragmentation], shown)
    assert "| [fragmentation](#fragmentation) | left out |" in text
    assert why in " ".join(text.split())
    assert not [one.name for one in every() if one.dies and one not in (offload, fragmentation)]


def test_only_what_was_analysed_has_no_advice() -> None:
    technique = read(ROOT / "examples/techniques/no_grad.py")
    seen: dict[str, Any] = {"died": False, "reserved_bytes": 1 << 30}
    assert page.sentence(technique, {"before": seen, "after": seen}) == (
        "This technique was not analysed, because on a real GPU only PyTorch's own allocator was "
        "measured."
    )
    analysed = seen | {"advice": []}
    assert page.sentence(technique, {"before": analysed, "after": analysed}) == (
        "It advises no saving, because the GPU has free memory."
    )


@pytest.mark.long
def test_one_that_runs_out_of_memory_stops_no_other(tmp_path: Path) -> None:
    card = "--simulate=h200,memory=400MiB"
    done, facts = measure(tmp_path, "--quick", card, "no_grad", "lazy_modules")
    assert done.returncode == 1
    assert "no_grad: FAILED: before: exit status 1" in done.stderr
    assert "CUDA out of memory" in facts["techniques"]["no_grad"]["failed"]
    assert "variants" in facts["techniques"]["lazy_modules"]
    assert "**failed**" in row_of("no_grad", tmp_path)


def test_the_page_says_of_each_script_what_its_docstring_says() -> None:
    techniques = every()
    text = page.render(techniques, {"simulate": "h200", "techniques": {}})
    lines = [line for line in text.splitlines() if line[:1] != "|" and line != "Not measured yet."]
    written = iter(PAGE.read_text().splitlines())
    missing = [line for line in lines if line not in written]
    assert not missing[:1], "examples/run techniques writes the page again"
    rows = re.findall(r"^\| \[(\w+)\]", PAGE.read_text(), flags=re.MULTILINE)
    assert rows == [one.name for one in techniques]


def test_a_wrong_name_is_one_sentence_and_exit_status_2() -> None:
    done = run_program(ROOT / "examples/run", "techniques", "no_such")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "examples/run techniques: there is no technique 'no_such'; "
        "examples/run techniques --list names them.\n"
    )


def test_traces_and_facts_are_in_this_tree_wherever_vramstow_is(tmp_path: Path) -> None:
    program = "import facts; print(facts.KEPT)"
    env = os.environ | {
        "VRAMSTOW_BUILD": str(tmp_path),
        "PYTHONPATH": str(ROOT / "examples/measure"),
    }
    done = run_program(sys.executable, "-c", program, env=env, check=True)
    assert Path(done.stdout.strip()) == ROOT / "build/examples"


def test_help_says_what_it_writes() -> None:
    done = run_program(ROOT / "examples/run", "techniques", "--help", check=True)
    assert "docs/techniques.md" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Group: lifetime", "Group: luck", "there is no group 'luck'."),
        ("Claim:", "Calim:", "its docstring has an unknown field 'Calim'."),
        ("Do:", "Note:", "its docstring lacks Do."),
        ("main(before=before, after=after)", "before()", "it has no main(before=…, after=…)."),
    ],
)
def test_a_script_that_says_too_little_is_named(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    script = tmp_path / "no_grad.py"
    text = (ROOT / "examples/techniques/no_grad.py").read_text()
    assert old in text
    script.write_text(text.replace(old, new))
    with pytest.raises(BadTechniqueError) as told:
        read(script)
    assert str(told.value) == f"no_grad.py: {sentence}"


def test_a_script_runs_by_itself_and_names_its_variants() -> None:
    script = ROOT / "examples/techniques/no_grad.py"
    done = run_program(sys.executable, script, "during")
    assert done.returncode == 2
    assert "choose from" in done.stderr and "before" in done.stderr


@pytest.mark.long
def test_every_technique_shows_what_is_certain(tmp_path: Path) -> None:
    done, facts = measure(tmp_path)
    assert done.returncode == 0, done.stderr
    assert not [
        text for name, one in facts["techniques"].items() for text in wrong(name, one["variants"])
    ]
