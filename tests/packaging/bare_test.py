"""Tests the wheel on bare systems: Debian 11, 12, 13 and 14 with only Python and pip's torch.

VRAMSTOW_TEST_WHEEL names a wheel that setup/wheel made, VRAMSTOW_TEST_ROOTS a folder in which the
root file systems are retained from one run to the next (some 6 GB each).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import bare_root
import pytest
from bare_root import BareRoot
from built import ROOT, run_program
from conftest import check_binaries, check_needs, must


@dataclass(frozen=True)
class System:
    release: str  # the release of Debian
    torch: str
    # The version of a Python of this machine that is copied into the tested system. If it is empty,
    # the tested system's own Python is used.
    python: str = ""
    tells_holders: bool = True  # the census knows the Python
    tells_lines: bool = True  # the C library is 2.35 or newer

    @property
    def name(self) -> str:
        return self.release + (f"-python{self.python}" if self.python else "")


# The systems on which the wheel is tested. For Debian 11's Python there is no newer PyTorch. Ubuntu
# 24.04 cannot be installed from Debian's packages. Its version of Python is tried on Debian 13, and
# its C library (2.39) is between those of Debian 12 and 13.
SYSTEMS = (
    System("bookworm", "2.15.0"),
    System("trixie", "2.15.0"),
    System("trixie", "2.15.0", python="3.12"),
    System("bullseye", "2.8.0", tells_lines=False),
    System("forky", "2.15.0", tells_holders=False),
)
USERS = ("root", "plain")
MOST_BYTES = 25 << 20

JOB = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8))
model = model.cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    loss = model(torch.randn(64, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step}: {loss.item():.4f}")
"""
# A program that queries its own pool.
ASKING = (
    JOB
    + """
import os, subprocess
asked = ["vramstow", "ctl", str(os.getpid()), "stats"]
print(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
"""
)
# A program that runs out of memory while a list holds its tensors.
KEEPING = """
import torch
kept = []
while True:
    kept.append(torch.ones(1 << 20, device="cuda"))
"""


def copy_python(version: str, folder: Path) -> str | None:
    """Copies this machine's Python into the folder `opt/python`; returns why it is impossible."""
    found = shutil.which(f"python{version}")
    asked = found and run_program(found, "-c", "import sys; print(sys.base_prefix)")
    if not asked or asked.returncode != 0:
        return f"there is no python{version} here"
    shutil.copytree(asked.stdout.strip(), folder / "opt/python", symlinks=True)
    return None


class Tried(BareRoot):
    """A bare system with /opt/job, an environment with the wheel and torch."""

    def __init__(self, system: System, folder: Path) -> None:
        super().__init__(system.release, folder, system.name)
        self.system = system

    def prepare(self, wheel: Path) -> str | None:
        """Makes the environment. Returns why it is impossible for reasons beyond this wheel."""
        why = self.make()
        if why is not None:
            return why
        python = "python3"
        if self.system.python:
            if not (self.folder / "opt/python").exists():
                why = copy_python(self.system.python, self.folder)
            if why is not None:
                return why
            # If Python is linked to a shared libpython, it searches the library in the folder in
            # which it was built. So the copied folder is added to the dynamic linker's
            # configuration.
            (self.folder / "etc/ld.so.conf.d/python.conf").write_text("/opt/python/lib\n")
            self.run("root", "/usr/sbin/ldconfig")
            python = f"/opt/python/bin/python{self.system.python}"
        shutil.copy(wheel, self.folder / "opt" / wheel.name)
        (self.folder / "opt/job.py").write_text(JOB)
        (self.folder / "opt/asking.py").write_text(ASKING)
        (self.folder / "opt/keeping.py").write_text(KEEPING)
        if not (self.folder / "opt/job/.torch").exists():
            made = self.run("root", python, "-m", "venv", "/opt/job")
            assert made.returncode == 0, made.stderr
            torch = f"torch=={self.system.torch}"
            got = self.run("root", "pip", "install", "-q", "--no-cache-dir", torch, timeout=3000)
            if got.returncode != 0:
                return f"{torch} cannot be installed from here: {got.stderr[-300:]}"
            (self.folder / "opt/job/.torch").touch()
        return None


@pytest.fixture(scope="session", params=SYSTEMS, ids=lambda system: system.name)
def system(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Tried:
    why = bare_root.why_not()
    if why is not None:
        pytest.skip(why)
    kept = os.environ.get("VRAMSTOW_TEST_ROOTS")
    root = Tried(request.param, Path(kept) if kept else tmp_path_factory.mktemp("roots"))
    why = root.prepare(wheel)
    if why is not None:
        pytest.skip(why)
    install = ("pip", "install", "-q", "--no-deps", "--force-reinstall", f"/opt/{wheel.name}")
    got = root.run("root", *install)
    assert got.returncode == 0, got.stderr
    return root


def test_the_wheel_is_small_tagged_and_needs_glibc_2_31_only(wheel: Path, tmp_path: Path) -> None:
    assert wheel.name.endswith("-py3-none-manylinux_2_31_x86_64.whl")
    assert wheel.stat().st_size <= MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    check_needs(tmp_path, "GLIBC_2.31")
    check_binaries(tmp_path / "vramstow/native")


def test_nothing_that_was_seen_here_is_a_compiler(system: Tried) -> None:
    for name in ("c++", "g++", "clang++", "gcc", "cc"):
        assert system.run("root", "sh", "-c", f"command -v {name}").returncode != 0


@pytest.mark.parametrize("user", USERS)
def test_a_job_is_rehearsed_and_explained(system: Tried, user: str) -> None:
    folder = Path(system.run(user, "mktemp", "-d").stdout.strip())
    command = ("vramstow", "run", "--simulate=h200", f"--trace-dir={folder}", "--")
    ran = system.run(user, *command, "python", "/opt/job.py")
    assert ran.returncode == 0, ran.stderr
    assert [line.split(":")[0] for line in ran.stdout.splitlines()] == [
        "step 0",
        "step 1",
        "step 2",
    ]
    assert "SIMULATED RUN" in ran.stderr
    assert "C++ compiler" not in ran.stderr and "compiling" not in ran.stderr, ran.stderr
    assert "nan" not in ran.stdout
    [written] = (system.folder / str(folder)[1:]).glob("*.stow")
    trace = folder / written.name
    told = system.run(user, "vramstow", "analyze", "--full", str(trace))
    assert told.returncode == 0 and "PyTorch's tensors" in told.stdout, told.stdout
    assert ("job.py:" in told.stdout) == system.system.tells_lines, told.stdout
    page = folder / "report.html"
    report = system.run(user, "vramstow", "report", str(trace), "-o", str(page))
    assert report.returncode == 0, report.stderr
    assert (system.folder / str(page)[1:]).stat().st_size > 10_000


@pytest.mark.parametrize("user", USERS)
def test_the_pool_serves_and_is_asked(system: Tried, user: str) -> None:
    command = ("vramstow", "run", "--simulate=h200", "--pool=on", "--no-trace", "--")
    ran = system.run(user, *command, "python", "/opt/asking.py")
    assert ran.returncode == 0, ran.stderr
    assert "allocated" in ran.stdout
    # PyTorch's tensors, not its segments, come from the pool.
    assert "segments" not in ran.stderr, ran.stderr


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_the_pool_serves_where_no_start_up_file_runs(system: Tried, flag: str) -> None:
    packages = system.run("plain", "python", "-c", "import site; print(site.getsitepackages()[0])")
    program = (
        f"import sys; sys.path.append({packages.stdout.strip()!r}); "
        "exec(open('/opt/job.py').read())"
    )
    command = ("vramstow", "run", "--simulate=h200", "--pool=on", "--no-trace", "--")
    ran = system.run("plain", *command, "python", flag, "-c", program)
    assert ran.returncode == 0, ran.stderr
    assert "not its tensors" not in ran.stderr, ran.stderr


def test_the_census_tells_who_holds_the_memory(system: Tried) -> None:
    """After an out-of-memory error; the wheel has the compiled census, too."""
    folder = system.run("plain", "mktemp", "-d").stdout.strip()
    flags = ("--simulate=h200,memory=512MiB", "--census=on", f"--trace-dir={folder}")
    program = JOB + "more = torch.empty(1 << 30, dtype=torch.uint8, device='cuda')\n"
    ran = system.run("plain", "vramstow", "run", *flags, "--", "python", "-c", program)
    assert ran.returncode == 1 and "OutOfMemoryError" in ran.stderr, ran.stderr
    assert "C++ compiler" not in ran.stderr
    told = system.run("plain", "sh", "-c", f"vramstow analyze --json {folder}")
    holders = json.loads(told.stdout)["out_of_memory"][0]["holders"] or []
    assert any("model" in one["holder"] for one in holders) == system.system.tells_holders, holders


def test_the_first_run_names_who_holds_the_memory(system: Tried) -> None:
    """Without settings, in the user's own folder: nothing is compiled, so no run has to wait for
    it."""
    command = ("vramstow", "run", "--simulate=h200,memory=200MiB", "--", "python")
    ran = system.run("plain", *command, "/opt/keeping.py")
    assert ran.returncode == 1 and "OutOfMemoryError" in ran.stderr, ran.stderr
    assert "compil" not in ran.stderr, ran.stderr
    assert ("kept[0.." in ran.stderr) == system.system.tells_holders, ran.stderr
    told = system.run("plain", "vramstow", "analyze")
    assert told.returncode == 0 and "reads keeping-" in told.stderr, told.stderr
    assert ("kept[0.." in told.stdout) == system.system.tells_holders, told.stdout


@pytest.mark.parametrize("user", USERS)
def test_the_doctor_finds_nothing_that_the_wheel_lacks(system: Tried, user: str) -> None:
    asked = system.run(user, "vramstow", "doctor", "--simulate=h200", "--json")
    found = json.loads(asked.stdout)["findings"]
    broken = {finding["id"] for finding in found if finding["verdict"] == "broken"}
    assert broken == set(), found


def test_without_a_compiled_adapter_a_line_says_what_is_missed(system: Tried) -> None:
    """Acts as with a release of PyTorch that is newer than the wheel."""
    [adapters] = system.folder.glob(
        "opt/job/lib/python3*/site-packages/vramstow/native/lib/vramstow/compiled-adapters"
    )
    aside = adapters.rename(adapters.with_name("aside"))
    folder = system.run("plain", "mktemp", "-d").stdout.strip()
    flags = ("--simulate=h200", "--census=off", f"--trace-dir={folder}")
    try:
        ran = system.run("plain", "vramstow", "run", *flags, "--", "python", "/opt/job.py")
    finally:
        aside.rename(adapters)
    assert ran.returncode == 0, ran.stderr
    missing = [line for line in ran.stderr.splitlines() if "C++ compiler" in line]
    assert len(missing) == 2, ran.stderr  # one line for each library


def steps_of(recipe: Path) -> list[tuple[str, str]]:
    """Returns each instruction of a Containerfile with its arguments."""
    text = re.sub(r"^#.*\n", "", recipe.read_text(), flags=re.MULTILINE).replace("\\\n", "")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def test_the_steps_of_the_container_recipe_pass(system: Tried, wheel: Path) -> None:
    """Uses this system instead of an image; it has the user and PyTorch already."""
    if system.system.torch != SYSTEMS[0].torch:
        pytest.skip("the recipe is for another PyTorch")
    folder = ROOT / "docs/recipes/container"
    user, known, ran = "root", {}, []
    for instruction, rest in steps_of(folder / "Containerfile"):
        if instruction == "ARG":
            name, _, value = rest.partition("=")
            known[name] = value
        elif instruction == "COPY":
            source, goal = rest.split()
            file = wheel if source.endswith(".whl") else folder / source
            place = system.folder / goal[1:]
            shutil.copy(file, place / file.name if goal.endswith("/") else place)
        elif instruction == "USER":
            assert rest == "1000"
            user = "plain"
        elif instruction == "RUN" and "useradd" not in rest:
            done = system.run(user, "sh", "-c", rest, **known)
            assert done.returncode == 0, (rest, done.stdout[-2000:], done.stderr[-2000:])
            ran.append(rest)
        else:
            assert instruction in ("FROM", "WORKDIR", "RUN")
    assert len(ran) == 3 and user == "plain" and known["TORCH"] == SYSTEMS[0].torch


def test_completion_and_every_part_is_in_the_wheel(system: Tried) -> None:
    for shell, said in (("bash", "complete -"), ("zsh", "#compdef")):
        told = system.run("plain", "vramstow", "completion", shell)
        assert told.returncode == 0 and said in told.stdout, told.stderr
    parts = "/opt/job/lib/python3*/site-packages/vramstow/native/lib/vramstow/export"
    listed = system.run("plain", "sh", "-c", f"ls {parts}").stdout.split()
    assert {"collect.py", "facts.sql", "fleet_waste.sql", "write_parquet.py"} <= set(listed)


def test_the_wheel_needs_no_torch(system: Tried) -> None:
    assert system.run("plain", "python3", "-c", "import torch").returncode == 0
    bare = system.run("plain", "/usr/bin/python3", "-c", "import torch")
    assert bare.returncode != 0
    helped = system.run("plain", "vramstow", "--help")
    assert helped.returncode == 0 and "Profiles the GPU memory" in helped.stdout
    wrong = system.run("plain", "vramstow", "run", "--simulat=h200", "--", "true")
    assert wrong.returncode == 2 and "--simulat" in wrong.stderr


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_the_debian_package_runs_there(release: str, tmp_path: Path) -> None:
    """The package is built on Debian 12, and its dependencies say so: it runs there and on newer
    systems."""
    why = bare_root.why_not()
    if why is not None:
        pytest.skip(why)
    kept = os.environ.get("VRAMSTOW_TEST_ROOTS")
    root = BareRoot(release, Path(kept) if kept else tmp_path)
    why = root.make()
    if why is not None:
        pytest.skip(why)
    build = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
    must("cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", tmp_path / "made")
    [package] = (tmp_path / "made").glob("*.deb")
    shutil.copy(package, root.folder / "tmp/vramstow.deb")
    installed = root.run(
        "root",
        "/usr/bin/dpkg",
        "--install",
        "/tmp/vramstow.deb",
        PATH="/usr/sbin:/usr/bin:/sbin:/bin",
    )
    assert installed.returncode == 0, installed.stderr
    try:
        asked = root.run("plain", "/usr/bin/vramstow", "doctor", "--simulate=h200", "--json")
        assert asked.stdout.count("vramstow sees a preloaded process") == 1, asked.stderr
    finally:
        root.run(
            "root", "/usr/bin/dpkg", "--purge", "vramstow", PATH="/usr/sbin:/usr/bin:/sbin:/bin"
        )
