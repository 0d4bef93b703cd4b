"""Tests vramstow completion: real shells complete commands, flags and values."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from built import BUILD, run_program, run_vramstow

HERE = Path(__file__).resolve().parent
# The shells, and the name of the script for each.
SHELLS = {"bash": "vramstow", "zsh": "_vramstow"}


def told(*arguments: str) -> str:
    return run_vramstow(*arguments, timeout=60, check=True).stdout


def script_of(shell: str, folder: Path) -> Path:
    script = folder / SHELLS[shell]
    script.write_text(told("completion", shell))
    return script


def ask(shell: str, script: Path, line: str, cwd: Path) -> set[str]:
    """Returns the words that the shell offers for the last word of the line."""
    # Split the line as bash does: "=" is a word of its own.
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
    offered = Path(tempfile.mkdtemp()) / "offered"
    offered.touch()
    command = {
        "bash": [
            *("bash", "--noprofile", "--norc", "-c"),
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '_vramstow; printf "%s\\n" "${COMPREPLY[@]}"',
            *("bash", script, *words),
        ],
        "zsh": ["zsh", "-f", HERE / "complete.zsh", script.parent, line, offered],
    }[shell]
    result = run_program(*command, cwd=cwd, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    text = offered.read_text() if shell == "zsh" else result.stdout
    shutil.rmtree(offered.parent)
    return set(text.splitlines()) - {""}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here: setup/packages-test.txt names it")
    return request.param


@pytest.fixture
def offers(shell: str, tmp_path: Path):  # noqa: ANN201
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    work = tmp_path / "work"
    (work / "traces").mkdir(parents=True)
    (work / "train.py").touch()
    script = script_of(shell, scripts)
    return lambda line: ask(shell, script, line, work)


def listed_commands() -> set[str]:
    return set(re.findall(r"^  (\w+) +\w", told("--help").split("Examples:")[0], re.MULTILINE))


def flags_of(command: str) -> set[str]:
    """Returns the flags that the command's help names."""
    text = told(command, "--help-all" if command == "run" else "--help")
    lines = [line for line in text.splitlines() if re.match(r" +-", line)]
    return {flag for line in lines for flag in re.findall(r"^ +(?:-\w,)?(--[\w-]+)", line)}


def test_every_command_is_offered(offers) -> None:  # noqa: ANN001
    commands = listed_commands()
    assert {"run", "report", "completion"} <= commands
    assert "docs" not in commands
    assert commands <= offers("vramstow ")
    assert offers("vramstow re") == {"report", "replay"}
    assert commands <= offers("vramstow help ")


def test_every_flag_that_the_help_names_is_offered(offers) -> None:  # noqa: ANN001
    for command in ("run", "report", "ctl"):
        flags = flags_of(command)
        assert len(flags) > 4
        assert flags <= offers(f"vramstow {command} --"), command
    assert offers("vramstow run --trace-s") == {"--trace-size"}
    assert "--pool" not in offers("vramstow report --")


def test_values_are_offered(offers) -> None:  # noqa: ANN001
    assert offers("vramstow run --stacks ") == {"auto", "off", "sites", "all"}
    assert offers("vramstow run --pool=o") == {"on", "off"}
    assert offers("vramstow run --offload ") == {"off", "auto", "explicit"}
    assert offers("vramstow export x.stow --to s") == {"snapshot", "speedscope"}
    assert offers("vramstow adapter st") == {"status"}
    assert offers("vramstow ctl 4711 em") == {"empty-cache"}
    assert offers("vramstow completion ") == set(SHELLS)


def test_files_are_offered(offers) -> None:  # noqa: ANN001
    assert {word.rstrip("/") for word in offers("vramstow report tr")} == {"traces", "train.py"}
    assert {word.rstrip("/") for word in offers("vramstow run --trace-dir tra")} >= {"traces"}
    assert {word.rstrip("/") for word in offers("vramstow report -o tra")} >= {"train.py"}


def test_what_follows_the_flags_of_run_is_another_program(offers) -> None:  # noqa: ANN001
    assert "sha256sum" in offers("vramstow run -- sha256s")
    assert "sha256sum" in offers("vramstow run --pool=on --json -- sha256s")
    assert "train.py" in offers("vramstow run -- cat trai")
    assert "train.py" in offers("vramstow run --stacks=all -- cat trai")
    # Completion offers no flags of vramstow after the name of another program.
    assert "--pool" not in offers("vramstow run -- cat --po")
    assert "sha256sum" in offers("vramstow fit --simulate h200 -- sha256s")


def test_the_script_has_no_mistake_that_its_shell_sees(shell: str, tmp_path: Path) -> None:
    script = script_of(shell, tmp_path)
    checked = run_program(shell, "-n", script)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_what_is_installed_is_what_the_program_says_now() -> None:
    made = BUILD / "tools/completion"
    for shell, name in SHELLS.items():
        assert (made / name).read_text() == told("completion", shell), "build the target completion"


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")
def test_shellcheck_has_nothing_to_say(tmp_path: Path) -> None:
    script = script_of("bash", tmp_path)
    checked = run_program("shellcheck", "--shell=bash", script)
    assert checked.returncode == 0, checked.stdout


def test_another_shell_is_refused_in_one_sentence() -> None:
    result = run_vramstow("completion", "csh")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1 and "csh" in result.stderr


def test_json_tells_the_table() -> None:
    told_commands = json.loads(told("completion", "--json"))["commands"]
    assert {command["name"] for command in told_commands} == listed_commands()
    [run] = [command for command in told_commands if command["name"] == "run"]
    [stacks] = [option for option in run["options"] if "--stacks" in option["names"]]
    assert stacks["takes_value"] and stacks["values"] == ["auto", "off", "sites", "all"]
