"""Tests the scripts of simulator/generate, which make the simulator's tables, on small headers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[3] / "simulator/generate"


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", SCRIPTS / script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def made(folder: Path, header: str, text: str, script: str, *arguments: object) -> str:
    (folder / header).write_text(text)
    result = run(script, "--include", folder, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


FORMS = """
/* typedef CUresult (CUDAAPI *PFN_cuNot_v1000)(void); */
typedef CUresult (CUDAAPI *PFN_cuCopy_v2000)(CUdeviceptr_v1 to,
                                             size_t bytes);
typedef CUresult (CUDAAPI *PFN_cuCopy_v3020)(CUdeviceptr_v2 to, void *from, size_t bytes);
typedef CUresult (CUDAAPI *PFN_cuCopy_v7000_ptds)(CUdeviceptr_v2 to, void *from, size_t bytes);
typedef CUresult (CUDAAPI *PFN_cuWait_v8000)(CUstream stream);
typedef CUresult (CUDAAPI *PFN_cuWait_v8000_ptsz)(CUstream stream);
"""


def driver(folder: Path, lists: str) -> tuple[list[str], str]:
    (folder / "list").write_text(lists)
    functions, forwards = folder / "functions", folder / "forwards"
    files = ["--list", folder / "list", "--functions", functions, "--per-thread", forwards]
    made(folder, "cudaTypedefs.h", FORMS, "driver_table.py", *files)
    return functions.read_text().splitlines(), forwards.read_text()


def test_a_second_form_ends_in_v2_and_a_per_thread_form_follows_the_newest(tmp_path: Path) -> None:
    functions, forwards = driver(tmp_path, "")
    assert functions == [
        "VRAMSTOW_DRIVER_FUNCTION(cuCopy, cuCopy, 2000, kLegacy)",
        "VRAMSTOW_DRIVER_FUNCTION(cuCopy, cuCopy_v2, 3020, kLegacy)",
        "VRAMSTOW_DRIVER_FUNCTION(cuCopy, cuCopy_v2_ptds, 7000, kPerThread)",
        "VRAMSTOW_DRIVER_FUNCTION(cuWait, cuWait, 8000, kLegacy)",
        "VRAMSTOW_DRIVER_FUNCTION(cuWait, cuWait_ptsz, 8000, kPerThread)",
    ]
    assert "return cuCopy_v2(to, from, bytes);" in forwards
    assert "return cuWait(stream);" in forwards


def test_functions_that_headers_lack_come_from_the_list(tmp_path: Path) -> None:
    functions, _ = driver(tmp_path, "typedef CUresult (CUDAAPI *PFN_cuNew_v13020)(void);\n")
    assert "VRAMSTOW_DRIVER_FUNCTION(cuNew, cuNew, 13020, kLegacy)" in functions


def test_refused_forms_are_in_the_table_and_pass_nothing_on(tmp_path: Path) -> None:
    functions, forwards = driver(tmp_path, "refused cuWait_ptsz\nforward cuCopy_v2_ptds cuCopy\n")
    assert "VRAMSTOW_DRIVER_FUNCTION(cuWait, cuWait_ptsz, 8000, kPerThread)" in functions
    assert "cuWait" not in forwards
    assert "return cuCopy(to, from, bytes);" in forwards


def test_absent_names_are_nowhere(tmp_path: Path) -> None:
    functions, forwards = driver(tmp_path, "absent cuWait\n")
    assert functions and not any("cuWait" in line for line in functions)
    assert "cuWait" not in forwards


def test_a_line_of_another_kind_is_told(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("# fine\nforward cuWait_ptsz\n")
    result = run(
        "driver_table.py",
        *("--include", tmp_path, "--list", tmp_path / "list"),
        *("--functions", tmp_path / "functions", "--per-thread", tmp_path / "forwards"),
    )
    assert result.returncode != 0
    assert "list:2:" in result.stderr


LIBRARY = """
// libThing(not a function)
#define libCopy __CUDART_API_PTDS(libCopy)
int libCopy(int a);  int libInline(void);
int other(int a);
"""


def test_names_of_a_library_are_its_header_with_the_list(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("# private\n+ libOld libOlder\n- libInline\n")
    table, script = tmp_path / "table", tmp_path / "script"
    made(
        tmp_path,
        "lib.h",
        LIBRARY,
        "library_names.py",
        *("--header", "absent.h", "--header", "lib.h", "--prefix", "lib"),
        *("--list", tmp_path / "list", "--table", table, "--script", "libx.so.3", script),
    )
    names = ["libCopy", "libCopy_ptds", "libOld", "libOlder"]
    assert table.read_text() == "".join(f"SYMBOL({name})\n" for name in names)
    assert script.read_text().startswith("libx.so.3 {\n  global:\n    libCopy;\n")
    assert script.read_text().endswith("  local: *;\n};\n")


def test_called_functions_have_the_newest_form_of_the_oldest_headers(tmp_path: Path) -> None:
    newer = "typedef CUresult (CUDAAPI *PFN_cuWait_v13020)(CUstream stream, int how);\n"
    (tmp_path / "list").write_text("Wait Copy=2000 # two\n")
    functions = tmp_path / "functions"
    files = ["--list", tmp_path / "list", "--functions", functions]
    made(tmp_path, "cudaTypedefs.h", FORMS + newer, "called_functions.py", *files)
    assert functions.read_text().splitlines() == [
        "DRIVER_FUNCTION(Copy, 2000)",
        "DRIVER_STREAM_FUNCTION(Wait, 8000, 8000)",
    ]


def test_a_called_function_that_no_header_has_is_told(tmp_path: Path) -> None:
    (tmp_path / "cudaTypedefs.h").write_text(FORMS)
    (tmp_path / "list").write_text("Waits\n")
    files = ["--list", tmp_path / "list", "--functions", tmp_path / "functions"]
    result = run("called_functions.py", "--include", tmp_path, *files)
    assert result.returncode != 0
    assert "cuWaits" in result.stderr


BLAS = """
CUBLASAPI cublasStatus_t CUBLASWINAPI cublasSone_v2(cublasHandle_t handle, int n,
                                                    const float* alpha, const float* x, int incx,
                                                    double* result);
CUBLASAPI cublasStatus_t CUBLASWINAPI cublasStwo_v2_64(
    cublasHandle_t handle, cublasOperation_t trans, int64_t m, int64_t k,
    const cuComplex* const A[], int64_t lda, int64_t ldb, void* c, cudaDataType cType);
"""


def blas(folder: Path, lists: str) -> subprocess.CompletedProcess[str]:
    (folder / "list").write_text(lists)
    (folder / "blas.h").write_text(BLAS)
    files = ["--list", folder / "list", "--calls", folder / "calls", "--header", "blas.h"]
    return run("blas_calls.py", "--include", folder, *files)


def test_arguments_of_blas_are_written_down_in_order(tmp_path: Path) -> None:
    lists = "# one\ncublas[SD]one_v2 first (n, 1) types=each increments=any\n"
    lists += "cublasStwo_v2 second (m, k) lda=trans == 0 ? m : k\n"
    assert blas(tmp_path, lists).returncode == 0
    calls = "".join((tmp_path / "calls").read_text().split())
    assert (
        '"first").Extent(n).Scalar(alpha,kDataType<float>).Array(x).Type(kDataType<float>)'
        ".Number(incx).Spread(n,1).LaunchForResult(result,sizeof*result);"
    ) in calls
    assert (
        '"second").Operation(trans).Extent(m).Inner(k).Array(A).Leading(lda,trans==0?m:k)'
        ".Leading(ldb,m).Scalar(c,cType).Type(kDataType<cuComplex>).Spread(m,k).Launch();"
    ) in calls


def test_a_line_for_functions_that_are_not_declared_is_told(tmp_path: Path) -> None:
    result = blas(tmp_path, "cublasSthree third (n, 1)\n")
    assert result.returncode != 0 and "cublasSthree" in result.stderr
    result = blas(tmp_path, "cublasSone_v2 first\n")
    assert result.returncode != 0 and ":1: a line is NAMES KERNEL" in result.stderr


RUNTIME = """
#define cudaWait __CUDART_API_PTSZ(cudaWait)
extern __host__ cudaError_t CUDARTAPI cudaWait(cudaStream_t stream __dv(0));
extern __host__ cudaError_t CUDARTAPI cudaSetLimit(enum cudaLimit limit,
                                                   size_t value);
extern __host__ cudaError_t CUDARTAPI cudaStop(void);
"""


def test_forwards_pass_their_arguments_on_and_those_of_streams_stand_apart(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("Call SetLimit=CtxSetLimit Stop  # more\nAsk Wait\n")
    once, twice = tmp_path / "once", tmp_path / "twice"
    options = ["--list", tmp_path / "list", "--once", once, "--twice", twice]
    made(tmp_path, "r.h", RUNTIME, "runtime_forwards.py", "--header", "r.h", *options)
    assert "cudaSetLimit(enum cudaLimit limit, size_t value) {\n  return Call(" in once.read_text()
    assert "return driver.CtxSetLimit(Same(limit), Same(value));" in once.read_text()
    assert "return driver.Stop();" in once.read_text()
    assert "cudaWait(cudaStream_t stream) {\n  return Ask(" in twice.read_text()
    assert "cudaWait" not in once.read_text()
    (tmp_path / "list").write_text("Call Stopp\n")
    told = run("runtime_forwards.py", "--include", tmp_path, "--header", "r.h", *options)
    assert told.returncode == 1 and "no header declares cudaStopp" in told.stderr
