"""Copies of the CUDA runtime in a simulated run: those that a program opens, those in a library's
wheel, and those that are linked into a library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from built import BUILD, VRAMSTOW, run_program

# A copy of NVIDIA's runtime, as far as it matters here: it reports another version, and asks the
# driver for a private table.
COPY = """
#include <dlfcn.h>
int cudaRuntimeGetVersion(int* version) { *version = 4242; return 0; }
int ask_for_table(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*ask)(const void**, const void*) =
      (int (*)(const void**, const void*))dlsym(driver, "cuGetExportTable");
  const void* table = 0;
  static const char id[16] = "private tables";
  return init(0) == 0 && ask(&table, id) != 0 && ask(&table, id) != 0 ? 0 : 1;
}
"""
VERSIONS = "libcudart.so.13 { global: cudaRuntimeGetVersion; ask_for_table; };\n"
CALLED = (
    "vramstow: {} is a real CUDA runtime, not the simulated one, and it was called. It requests "
    "private tables from the driver, which the simulated driver does not have, so code that calls "
    "it cannot run on the simulated GPU. It works on a real GPU."
)
# A library that contains its own copy of the runtime.
USER = """
int cudaRuntimeGetVersion(int* version);
int ask_for_table(void);
int version_of_runtime(void) { int version = 0; cudaRuntimeGetVersion(&version); return version; }
int ask_copy(void) { return ask_for_table(); }
"""
OPENS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
version = ctypes.c_int()
library.cudaRuntimeGetVersion(ctypes.byref(version))
print(version.value // 1000)
"""
FROM_MAPS = """
import ctypes, sys
user = ctypes.CDLL(sys.argv[1])
print(user.version_of_runtime() // 1000)
maps = [line.split()[-1] for line in open("/proc/self/maps") if "libcudart.0123abcd" in line]
print(len(maps) > 0)
version = ctypes.c_int()
ctypes.CDLL(maps[0]).cudaRuntimeGetVersion(ctypes.byref(version))
print(version.value // 1000)
if len(sys.argv) > 2:
    print(user.ask_copy())
"""


def compile_library(source: str, library: Path, *options: str | Path) -> Path:
    library.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", library, "-x", "c", "-", "-x", "none", *options, "-ldl"],
        input=source,
        text=True,
        check=True,
    )
    return library


def run(program: str, *arguments: str | Path, rehearsal: bool = True) -> tuple[str, list[str]]:
    """Returns the program's output, and the lines on standard error."""
    rehearse = [VRAMSTOW, "run", "--no-trace", "--simulate=h100", "--"]
    preload = {"LD_PRELOAD": str(BUILD / "lib/libvramstow.so"), "VRAMSTOW_TRACE": "0"}
    done = run_program(
        *(rehearse if rehearsal else []),
        sys.executable,
        "-c",
        program,
        *arguments,
        timeout=60,
        env=os.environ if rehearsal else os.environ | preload,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("libcudart.so.13", 13),
        ("libcudart.so.12", 12),
        ("libcudart.0123abcd.so.13", 13),
        ("libcudart-0123abcd.so.12.8.90", 12),
        ("libcudart.so", 13),
    ],
)
def test_a_copy_that_is_opened_is_the_simulated_runtime(
    tmp_path: Path, name: str, family: int
) -> None:
    copy = compile_library(COPY, tmp_path / name)
    for file in (copy, name):
        assert run(OPENS, file)[0] == f"{family}\n"
    assert run(OPENS, copy, rehearsal=False)[0] == "4\n", "on a card every copy is what it is"


def test_a_name_without_a_number_is_the_family_that_a_library_needs(tmp_path: Path) -> None:
    copy = compile_library(COPY, tmp_path / "libcudart.so.12", "-Wl,-soname,libcudart.so.12")
    source = "int cudaRuntimeGetVersion(int*); int f(int* n) { return cudaRuntimeGetVersion(n); }"
    user = compile_library(source, tmp_path / "libuser.so", copy)
    program = f"import ctypes; ctypes.CDLL({str(user)!r})\n{OPENS}"
    assert run(program, "libcudart.so")[0] == "12\n"


@pytest.mark.parametrize("name", ["libcudart.so.11.0", "libcudart_static.so.13", "libcudartx.so"])
def test_other_files_are_what_they_are(tmp_path: Path, name: str) -> None:
    assert run(OPENS, compile_library(COPY, tmp_path / name))[0] == "4\n"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Returns a library whose wheel has a copy of the runtime beside it."""
    script = tmp_path / "versions"
    script.write_text(VERSIONS)
    name = "libcudart.0123abcd.so.13"
    copy = compile_library(
        COPY, tmp_path / name, f"-Wl,-soname,{name}", f"-Wl,--version-script={script}"
    )
    return compile_library(USER, tmp_path / "libuser.so", copy, f"-Wl,-rpath,{tmp_path}")


def test_a_copy_that_came_with_a_library_is_idle(user: Path) -> None:
    out, errors = run(FROM_MAPS, user)
    assert out == "13\nTrue\n13\n"
    assert not [line for line in errors if "cannot run on the simulated GPU" in line], errors


def test_a_copy_that_is_called_all_the_same_is_named_as_one(user: Path) -> None:
    out, errors = run(FROM_MAPS, user, "ask")
    assert out == "13\nTrue\n13\n0\n"
    copy = user.parent / "libcudart.0123abcd.so.13"
    told = [line for line in errors if "private tables" in line]
    assert told == [CALLED.format(copy)]


ASKS = """
import ctypes, sys
for file in sys.argv[1:]:
    print(ctypes.CDLL(file).ask_for_table())
"""
SENTENCE = (
    "vramstow: {} contains a static CUDA runtime, which requests private tables from the driver. "
    "The simulated driver does not have them, so this code cannot run on the simulated GPU. "
    "It works on a real GPU."
)
REMEDY = (
    " FlashInfer, and SGLang through it, uses it for norms: with FLASHINFER_USE_CUDA_NORM=1 it is "
    "not needed."
)


def test_each_library_with_a_static_runtime_is_named_once_with_a_remedy(tmp_path: Path) -> None:
    files = [
        compile_library(COPY, tmp_path / file)
        for file in (
            "libwith_runtime.so",
            "nvidia_cutlass_dsl/lib/libcute_dsl_runtime.so",
            "libnvrtc.so.13",
        )
    ]
    out, errors = run(ASKS, *files, *files)
    assert out == "0\n" * 6
    told = [line for line in errors if "private tables" in line]
    first, second = (SENTENCE.format(file.name) for file in files[:2])
    assert told == [first, second + REMEDY], "NVRTC does without"
