"""Checks that the files of cmake --install run from the folder where they were installed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from built import BUILD, ROOT
from conftest import binaries, check_binaries, check_needs, check_rehearsal, must, run

VERSION = re.search(
    r"VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1]
)

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(vramstow {version} REQUIRED)
enable_testing()
add_executable(user user.c)
target_link_libraries(user PRIVATE vramstow::vramstow)
vramstow_add_trace_test(NAME fits COMMAND $<TARGET_FILE:user> SIMULATE h100
  ASSERT "peak_reserved <= 8MiB" "out_of_memory == 0")
vramstow_add_trace_test(NAME does_not COMMAND $<TARGET_FILE:user> SIMULATE h100
  ASSERT "peak_reserved <= 1MiB")
"""
# A program that also runs without vramstow: the functions of the header then return an error, and
# linking does not fail.
USER = """
#include <string.h>
#include <vramstow/vramstow.h>
int main(void) {
  if (vramstow_version() == NULL) return 0;
  if (strcmp(vramstow_version(), "%s") != 0) return 1;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*retain)(void**, int) = (int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*set)(void*) = (int (*)(void*))dlsym(driver, "cuCtxSetCurrent");
  int (*take)(uint64_t*, size_t) = (int (*)(uint64_t*, size_t))dlsym(driver, "cuMemAlloc_v2");
  void* context;
  uint64_t address;
  if (init(0) || retain(&context, 0) || set(context) || take(&address, 4 << 20)) return 2;
  return vramstow_mark("taken") == VRAMSTOW_OK ? 0 : 3;
}
"""


def version() -> str:
    assert VERSION is not None
    return VERSION[1]


def test_the_installed_program_runs(prefix: Path, tmp_path: Path) -> None:
    assert must(prefix / "bin/vramstow", "--version").startswith(f"vramstow {version()} (commit ")
    check_rehearsal(prefix, tmp_path / "job")


def test_nothing_installed_knows_where_it_was_built(prefix: Path) -> None:
    check_binaries(prefix)
    for path in prefix.rglob("*.cmake"):
        assert str(ROOT) not in path.read_text(), path


def test_it_needs_the_c_library_only(prefix: Path) -> None:
    # In this build the newest symbol version may be that of the machine's C library. (setup/wheel
    # builds for an older C library.)
    newest = os.confstr("CS_GNU_LIBC_VERSION")
    assert newest is not None
    check_needs(prefix, newest.replace("glibc ", "GLIBC_"))


def test_what_it_needs_beyond_that_is_found_out(tmp_path: Path) -> None:
    source = "#include <zlib.h>\nint main(void) { return zlibVersion() == 0; }\n"
    (tmp_path / "program.c").write_text(source)
    must("gcc", "program.c", "-lz", "-o", "program", cwd=tmp_path)
    assert list(binaries(tmp_path)) == [tmp_path / "program"]
    with pytest.raises(AssertionError, match=r"libz\.so"):
        check_needs(tmp_path, "GLIBC_99")
    must("gcc", "program.c", "-Wl,-Bstatic", "-lz", "-Wl,-Bdynamic", "-o", "program", cwd=tmp_path)
    check_needs(tmp_path, "GLIBC_99")
    with pytest.raises(AssertionError, match="GLIBC_2"):
        check_needs(tmp_path, "GLIBC_2.0")


def test_an_update_leaves_no_file_of_the_release_before(prefix: Path, tmp_path: Path) -> None:
    """Each source of an adapter that lies there is compiled, and each page is listed."""
    there = tmp_path / "usr/local"
    old = [
        there / name
        for name in (
            "lib/vramstow/adapters/adapters/torch/gone.cc",
            "lib/vramstow/python/vramstow_gone.py",
            "share/doc/vramstow/docs/gone.md",
        )
    ]
    beside = there / "lib/vramstow/compiled-adapters/kept.so"
    for file in (*old, beside):
        file.parent.mkdir(parents=True)
        file.touch()
    must("cmake", "--install", BUILD, "--prefix", "/usr/local", DESTDIR=str(tmp_path))
    assert not [file for file in old if file.exists()]
    assert beside.exists()
    for folder in ("lib/vramstow/adapters", "lib/vramstow/python", "share/doc/vramstow/docs"):
        wanted, found = (
            {path.relative_to(root) for path in (root / folder).rglob("*")}
            for root in (prefix, there)
        )
        assert found == wanted


def test_an_installation_can_be_moved(prefix: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(prefix, moved)
    check_rehearsal(moved, tmp_path / "job")


def test_a_folder_that_cannot_be_preloaded_from_is_refused(prefix: Path, tmp_path: Path) -> None:
    moved = tmp_path / "with space"
    shutil.copytree(prefix, moved)
    result = run(moved / "bin/vramstow", "run", "--simulate=h100", "--", "true", cwd=tmp_path)
    assert result.returncode == 2
    assert "move vramstow to another folder" in result.stderr


@pytest.mark.parametrize("wanted", ["0.1", None])
def test_a_project_finds_the_package_and_tests_with_it(
    prefix: Path, tmp_path: Path, wanted: str | None
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(version=wanted or ""))
    (tmp_path / "user.c").write_text(USER % version())
    must("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    must("cmake", "--build", tmp_path / "build")
    must(tmp_path / "build/user")
    must("ctest", "--test-dir", tmp_path / "build", "-R", "fits", "--output-on-failure")
    failed = run("ctest", "--test-dir", tmp_path / "build", "-R", "does_not", "-V")
    assert failed.returncode != 0
    assert "peak_reserved <= 1MiB" in failed.stdout


def test_a_version_that_is_not_there_is_refused(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(version="99"))
    (tmp_path / "user.c").write_text(USER % version())
    result = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert result.returncode != 0
    assert version() in result.stderr


def test_another_folder_for_libraries_is_refused(tmp_path: Path) -> None:
    result = run("cmake", "-S", ROOT, "-B", tmp_path, "-DCMAKE_INSTALL_LIBDIR=lib64")
    assert result.returncode != 0
    assert "lib beside bin" in " ".join(result.stderr.split())
