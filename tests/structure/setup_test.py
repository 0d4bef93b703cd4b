"""Checks what setup/setup.sh installs, builds and refuses, and what it says."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tree

# A script that replaces apt-get: it prints several lines for each package, to stdout and to stderr.
APT = """#!/bin/sh
echo "Unpacking $*"
echo "(Reading database ... 5%" >&2
[ "$1" != "$FAILS" ]
"""


# A dpkg-query that has g++ for two architectures, and the settings of a removed cmake. As the real
# one does, it ends a line only where the format says so.
TWO_ARCHITECTURES = r"""
case $2 in *'\n') format='%s\n' ;; *) format=%s ;; esac
case $3 in
  g++) printf "$format" installed installed ;;
  cmake) printf "$format" config-files config-files ;;
esac
"""


def execute(script: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Executes a script in this folder, after the functions of setup.sh are defined."""
    return subprocess.run(
        ("bash", "-euo", "pipefail", "-c", f". {tree.ROOT}/setup/setup.sh; {script}"),
        cwd=folder,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def install(folder: Path, *, fails: str = "", dpkg: str = "") -> subprocess.CompletedProcess[str]:
    """Runs it as root in a system that has none of the packages."""
    for name, text in (
        ("apt-get", APT),
        ("dpkg-query", f"#!/bin/sh\n{dpkg}"),
        ("id", "#!/bin/sh\necho 0"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "list.txt").write_text("# What is needed.\ng++\ncmake\n")
    script = f"install_packages {folder}/list.txt; echo goes on"
    return execute(script, folder, PATH=f"{folder}:{os.environ['PATH']}", FAILS=fails)


def test_packages_are_installed_in_one_line(tmp_path: Path) -> None:
    done = install(tmp_path)
    assert (done.returncode, done.stdout) == (0, "goes on\n")
    assert done.stderr == "Installing Debian packages: g++ cmake\n"


def test_a_package_of_two_architectures_is_there_and_a_removed_one_is_not(tmp_path: Path) -> None:
    done = install(tmp_path, dpkg=TWO_ARCHITECTURES)
    assert done.stderr == "Installing Debian packages: cmake\n"


def test_where_that_fails_its_own_words_are_shown(tmp_path: Path) -> None:
    for step in ("update", "install"):
        done = install(tmp_path, fails=step)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Reading database" in done.stderr and f"Unpacking {step}" in done.stderr
        # Without a network the update succeeds, and its warnings are the only ones that say why.
        assert "Unpacking update" in done.stderr
        last = done.stderr.splitlines()[-1]
        assert last == ("The Debian packages could not be installed; see above. Wanted: g++ cmake")


def prepare_python(folder: Path, needs: str = "", **more: str) -> Path:
    """Makes .venv with a list of packages, and returns the mark of that list."""
    (folder / "list.txt").write_text(f"# What is needed.\n{needs}")
    done = execute("prepare_python list.txt", folder, **more)
    assert done.returncode == 0, done.stderr
    return folder / ".venv/.done-list"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder that has a .venv with nothing but pip: making it takes some seconds."""
    folder = tmp_path_factory.mktemp("prepared")
    prepare_python(folder)
    return folder


@pytest.mark.parametrize("settings", [("target", "user"), ("prefix",), ("root",)])
def test_packages_go_into_the_environment_whatever_pip_is_told_elsewhere(
    prepared: Path, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    package = tmp_path / "source/needed-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: needed\nVersion: 1.0\n")
    (package / "WHEEL").write_text("Wheel-Version: 1.0\nTag: py3-none-any\n")
    (package / "RECORD").touch()
    with zipfile.ZipFile(tmp_path / "needed-1.0-py3-none-any.whl", "w") as wheel:
        for file in package.iterdir():
            wheel.write(file, file.relative_to(tmp_path / "source"))
    told = {one: "1" if one == "user" else str(tmp_path / "elsewhere") for one in settings}
    lines = (f"{one} = {value}\n" for one, value in told.items() if one != "root")
    (tmp_path / "pip.conf").write_text("[global]\n" + "".join(lines))
    environment = {f"PIP_{one.upper()}": value for one, value in told.items() if one != "user"}
    found = {"PIP_FIND_LINKS": str(tmp_path), "PYTHONPATH": str(tmp_path / "source")}
    mark = prepare_python(
        prepared,
        "needed==1.0",
        **environment,
        **found,
        PIP_NO_INDEX="1",
        PIP_CONFIG_FILE=str(tmp_path / "pip.conf"),
    )
    assert not (tmp_path / "elsewhere").exists()
    [installed] = prepared.glob(".venv/lib/python3.*/site-packages/needed-1.0.dist-info")
    shutil.rmtree(installed)
    mark.unlink()


def test_an_environment_without_pip_is_made_again(prepared: Path) -> None:
    """Ctrl-C leaves one, and so does a system whose Python became a newer one."""
    mark = prepared / ".venv/.done-list"
    mark.write_text("of the Python before")
    [files] = prepared.glob(".venv/lib/python3.*/site-packages/pip-*.dist-info/RECORD")
    files.unlink()
    assert prepare_python(prepared) == mark
    assert mark.read_text() == "# What is needed.\n"
    assert files.exists()
    (prepared / ".venv/kept").touch()
    prepare_python(prepared)
    assert (prepared / ".venv/kept").exists()


def test_an_environment_of_another_tool_keeps_its_packages(prepared: Path) -> None:
    [packages] = prepared.glob(".venv/lib/python3.*/site-packages")
    for part in packages.glob("pip*"):
        shutil.rmtree(part)
    (packages / "own.py").touch()
    (prepared / ".venv/.done-list").unlink()
    prepare_python(prepared)
    assert (packages / "own.py").exists()
    assert list(packages.glob("pip-*.dist-info/RECORD"))


PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(small NONE)
option(VRAMSTOW_TESTS "" ON)
add_custom_target(product COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_SOURCE_DIR}/built)
"""
PRESETS = """{"version": 6, "configurePresets": [
  {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build"}]}"""


@pytest.mark.parametrize("sign", [" ", ":", ";", "$"])
def test_a_folder_that_cannot_be_built_in_is_refused_at_once(tmp_path: Path, sign: str) -> None:
    folder = tmp_path / f"a{sign}b"
    folder.mkdir()
    done = execute("check_path; echo goes on", folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"vramstow cannot be built in '{folder}': LD_PRELOAD and CMake")


def small_project(folder: Path) -> Path:
    (folder / "setup").mkdir(parents=True)
    shutil.copy(tree.ROOT / "setup/show_build.py", folder / "setup")
    (folder / "CMakeLists.txt").write_text(PROJECT)
    (folder / "CMakePresets.json").write_text(PRESETS)
    return folder


def test_a_tree_that_was_copied_or_moved_builds_itself(tmp_path: Path) -> None:
    first = small_project(tmp_path / "first")
    done = execute("build all product", first)
    assert done.returncode == 0, done.stderr
    (first / "built").unlink()
    copy = Path(shutil.copytree(first, tmp_path / "copy", symlinks=True))
    done = execute("build product product", copy)
    assert done.returncode == 0, done.stderr
    assert f"build/ was configured for {first}; it is configured again" in done.stderr
    assert (copy / "built").exists() and not (first / "built").exists()
    moved = first.rename(tmp_path / "moved")
    assert execute("build product product", moved).returncode == 0
    assert (moved / "built").exists()
    again = execute("build product product", moved)
    assert again.returncode == 0 and "configured" not in again.stderr
    assert "VRAMSTOW_TESTS:BOOL=ON" in (moved / "build/CMakeCache.txt").read_text()


def test_runs_at_the_same_time_wait_for_each_other_where_they_build(tmp_path: Path) -> None:
    project = small_project(tmp_path / "tree")
    steps = "product COMMAND echo begin >>log COMMAND sleep 1 COMMAND echo end >>log COMMAND"
    slow = PROJECT.replace("product COMMAND", steps)
    (project / "CMakeLists.txt").write_text(slow)
    with ThreadPoolExecutor(2) as workers:
        runs = list(workers.map(lambda _: execute("build all product", project), range(2)))
    assert [done.returncode for done in runs] == [0, 0], runs
    assert (project / "build/log").read_text().split() == ["begin", "end"] * 2
    waited = "Another run works in build/; this one goes on when that has finished."
    assert any(waited in done.stderr for done in runs), runs


def test_a_run_of_the_same_example_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    # What the first one leaves running does not count.
    left = "sleep 100 8<&- >/dev/null 2>&1 & echo $!"
    first = f"refuse_beside_others traces; {left}; ({{}}) 8<&-"
    second = f". {tree.ROOT}/setup/setup.sh; refuse_beside_others traces; echo goes on"
    done = execute(first.format(f"bash -c '{second}' || true"), tmp_path)
    os.kill(int(done.stdout.split()[0]), signal.SIGKILL)
    assert "goes on" not in done.stdout
    assert done.stderr == (
        "Another run uses traces/; start this one again when that has finished.\n"
    )
    assert execute("refuse_beside_others traces; echo goes on", tmp_path).stdout == "goes on\n"


def test_an_older_python_is_refused(tmp_path: Path) -> None:
    old = f"""#!/bin/sh
    [ "$1" = --version ] && echo Python 3.10.12 && exit
    exec {sys.executable} -c 'import sys; sys.version_info = (3, 10, 12); exec(sys.argv[1])' "$2"
    """
    (tmp_path / "python3").write_text(old)
    (tmp_path / "python3").chmod(0o755)
    done = execute("prepare_python list.txt", tmp_path, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert done.stderr == "Python 3.11 or newer is needed; python3 is Python 3.10.12.\n"


@pytest.mark.parametrize(
    ("script", "arguments", "refused"),
    [
        ("examples/run", ("techniques", "no_such"), "there is no technique 'no_such'"),
        ("tests/run", ("--torch=1.0",), "1.0"),
        ("tests/run", ("--clients=no_such",), "no_such"),
    ],
)
def test_python_is_installed_before_it_checks_arguments(
    tmp_path: Path, script: str, arguments: tuple[str, ...], refused: str
) -> None:
    for tool in ("bash", "dirname", "env", "grep", "mktemp", "rm", "sh", "tail"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    link = f"{shutil.which('ln')} -s {sys.executable} {tmp_path}/python3"
    for name, text in (
        ("apt-get", f'case "$*" in *install*) {link} ;; esac'),
        ("dpkg-query", ""),
        ("id", "echo 0"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        (tree.ROOT / script, *arguments),
        env=os.environ | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Installing Debian packages: ca-certificates g++ ")
    assert refused in done.stderr.splitlines()[-1]


def test_files_are_those_of_the_caller_whatever_cdpath_says(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    for start in (tmp_path, tree.ROOT):
        done = subprocess.run(
            (os.path.relpath(tree.ROOT / "examples/run", start), "--wheel", "some/no.whl"),
            cwd=start,
            env=os.environ | {"CDPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"there is no file '{start}/some/no.whl'" in done.stderr
    done = execute("from=$PWD; as_called to; as_called /to", tmp_path)
    assert done.stdout.split() == [f"{tmp_path}/to", "/to"]
