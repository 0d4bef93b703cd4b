"""Compares the exports of the simulated libraries with the needs of the wheels and with the real
libraries.

Usage: exported_names_test.py SIMULATOR_FOLDER SITE_PACKAGES
It checks four rules. Every symbol that a library of the wheels needs from a simulated library is
exported there with its version node. The simulated libraries export every name of the real ones.
Every NVML function that PyTorch and NCCL look up exists. The versions of the simulated libraries
are those of the wheels' headers. The exit code is 77 if there is nothing to compare with (no torch
with CUDA).
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

from built import run_program

SKIPPED = 77
# For each release of CUDA, pairs of libraries: the stand-in and the real library in the wheels.
FAMILIES = {
    "13": {
        "libcublas.so.13": "nvidia/cu13/lib/libcublas.so.13",
        "libcublasLt.so.13": "nvidia/cu13/lib/libcublasLt.so.13",
        "libcudnn.so.9": "nvidia/cudnn/lib/libcudnn.so.9",
        "libcupti.so.13": "nvidia/cu13/lib/libcupti.so.13",
        "libcufft.so.12": "nvidia/cu13/lib/libcufft.so.12",
        "libcusolver.so.12": "nvidia/cu13/lib/libcusolver.so.12",
        "libcusparse.so.12": "nvidia/cu13/lib/libcusparse.so.12",
    },
    "12": {
        "libcudart.so.12": "nvidia/cuda_runtime/lib/libcudart.so.12",
        "libcublas.so.12": "nvidia/cublas/lib/libcublas.so.12",
        "libcublasLt.so.12": "nvidia/cublas/lib/libcublasLt.so.12",
        "libcudnn.so.9": "nvidia/cudnn/lib/libcudnn.so.9",
        "libcupti.so.12": "nvidia/cuda_cupti/lib/libcupti.so.12",
        "libcufft.so.11": "nvidia/cufft/lib/libcufft.so.11",
        "libcurand.so.10": "nvidia/curand/lib/libcurand.so.10",
        "libcusolver.so.11": "nvidia/cusolver/lib/libcusolver.so.11",
        "libcusparse.so.12": "nvidia/cusparse/lib/libcusparse.so.12",
    },
}
# Libraries without symbol versions. Each has a pattern of the names that belong to the library.
UNVERSIONED = {
    "libnccl.so.2": ("nvidia/nccl/lib/libnccl.so.2", r"p?nccl[A-Z]\w+"),
    "libcusparseLt.so.0": ("nvidia/cusparselt/lib/libcusparseLt.so.0", r"cusparseLt\w+"),
}
NVML_USERS = (
    "torch/lib/libc10_cuda.so",
    "torch/lib/libtorch_cuda.so",
    "nvidia/nccl/lib/libnccl.so.2",
)


def dynamic_symbols(library: Path, which: str) -> set[str]:
    """Returns the function names (name@node) that `nm -D` lists; a default version's @@ counts as
    @."""
    listing = run_program("nm", "-D", which, library).stdout
    lines = [line.split() for line in listing.splitlines()]
    return {words[-1].replace("@@", "@") for words in lines if words and words[-2] in "TWU"}


def family_of(site_packages: Path) -> str | None:
    """Returns the release of CUDA that the wheels are for; None without wheels."""
    first = (
        name
        for name, libraries in FAMILIES.items()
        if (site_packages / libraries[f"libcublas.so.{name}"]).exists()
    )
    return next(first, None)


def stand_ins(site_packages: Path) -> dict[str, str]:
    return FAMILIES[family_of(site_packages) or "13"]


def without_real_ones(site_packages: Path) -> list[Path]:
    """Returns all libraries of the wheels except those that a simulated library replaces."""
    replaced = {site_packages / path for path in stand_ins(site_packages).values()}
    replaced |= {site_packages / path for path, _ in UNVERSIONED.values()}
    found: list[Path] = []
    for folder in ("torch", "nvidia", "triton"):
        for library in sorted((site_packages / folder).rglob("*.so*")):
            if library.is_file() and not library.is_symlink() and library not in replaced:
                found.append(library)
    return found


def check_wanted(exported: dict[str, set[str]], site_packages: Path) -> list[str]:
    failures = []
    for library in without_real_ones(site_packages):
        for symbol in sorted(dynamic_symbols(library, "--undefined-only")):
            node = symbol.partition("@")[2]
            if node in exported and symbol not in exported[node]:
                failures.append(f"{symbol} (wanted by {library.name})")
    return failures


def check_complete(exported: dict[str, set[str]], site_packages: Path) -> list[str]:
    failures = []
    for name, path in stand_ins(site_packages).items():
        real = dynamic_symbols(site_packages / path, "--defined-only")
        failures += [
            f"{symbol} (exported by the real {name})" for symbol in sorted(real - exported[name])
        ]
    return failures


def check_unversioned(exported: dict[str, set[str]], site_packages: Path) -> list[str]:
    failures = []
    for name, (path, pattern) in UNVERSIONED.items():
        wanted = {
            (symbol, path) for symbol in dynamic_symbols(site_packages / path, "--defined-only")
        }
        for library in without_real_ones(site_packages):
            wanted |= {
                (symbol, library.name) for symbol in dynamic_symbols(library, "--undefined-only")
            }
        failures += [
            f"{symbol} of {name} (in {where})"
            for symbol, where in sorted(wanted)
            if re.fullmatch(pattern, symbol) and symbol not in exported[name]
        ]
    return failures


def check_nvml(simulator: Path, site_packages: Path) -> list[str]:
    exported = dynamic_symbols(simulator / "libnvidia-ml.so.1", "--defined-only")
    failures = []
    for user in NVML_USERS:
        path = site_packages / user
        if not path.exists():
            continue
        # A name that is a whole string in the program's text is a name that the library looks up.
        names = set(re.findall(rb"\0(nvml[A-Z]\w+)\0", path.read_bytes()))
        looked_up = {
            n.decode() for n in names if re.match(rb"nvml(Init|Shutdown|Error|Device|System)", n)
        }
        types = {n for n in looked_up if n.endswith(("_t", "_st", "_enum", "Found"))}
        failures += [
            f"{n} (looked up by {path.name})" for n in sorted(looked_up - types - exported)
        ]
    return failures


def header_version(header: Path, names: list[str]) -> list[int]:
    text = header.read_text(encoding="utf-8", errors="replace")
    return [int(re.search(rf"#define {name} (\d+)", text).group(1)) for name in names]


# The function by which a library reports its release, and the header of the wheel that states it.
VERSION_CALLS = {
    "libnccl.so.2": ("ncclGetVersion", "nvidia/nccl/include/nccl.h", "NCCL_VERSION_CODE"),
    "libcupti.so.13": (
        "cuptiGetVersion",
        "nvidia/cu13/include/cupti_version.h",
        "CUPTI_API_VERSION",
    ),
    "libcufft.so.12": ("cufftGetVersion", "nvidia/cu13/include/cufft.h", "CUFFT_VERSION"),
}


def check_simple_versions(simulator: Path, site_packages: Path) -> list[str]:
    failures = []
    for name, (call, header, macro) in VERSION_CALLS.items():
        answer = ctypes.c_int(0)
        getattr(ctypes.CDLL(str(simulator / name)), call)(ctypes.byref(answer))
        expected = header_version(site_packages / header, [macro])[0]
        if answer.value != expected:
            failures.append(f"{call} says {answer.value}, the wheel's header {expected}")
    return failures


def check_versions(simulator: Path, site_packages: Path) -> list[str]:
    include = site_packages / "nvidia/cu13/include/cublas_api.h"
    major, minor, patch = header_version(
        include, ["CUBLAS_VER_MAJOR", "CUBLAS_VER_MINOR", "CUBLAS_VER_PATCH"]
    )
    failures = []
    answer = ctypes.c_int(0)
    cublas = ctypes.CDLL(str(simulator / "libcublas.so.13"))
    cublas.cublasGetVersion_v2(None, ctypes.byref(answer))
    if answer.value != major * 10000 + minor * 100 + patch:
        failures.append(f"cuBLAS says {answer.value}, the wheel's header {major}.{minor}.{patch}")
    include = site_packages / "nvidia/cudnn/include/cudnn_version.h"
    major, minor, patch = header_version(
        include, ["CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"]
    )
    cudnn = ctypes.CDLL(str(simulator / "libcudnn.so.9"))
    cudnn.cudnnGetVersion.restype = ctypes.c_size_t
    if cudnn.cudnnGetVersion() != major * 10000 + minor * 100 + patch:
        failures.append(
            f"cuDNN says {cudnn.cudnnGetVersion()}, the wheel's header {major}.{minor}.{patch}"
        )
    return failures


def main() -> int:
    simulator, site_packages = Path(sys.argv[1]), Path(sys.argv[2])
    family = family_of(site_packages)
    if family is None:
        print(f"SKIPPED: no CUDA wheel of PyTorch in {site_packages} to compare with")
        return SKIPPED
    exported = {
        name: dynamic_symbols(simulator / name, "--defined-only")
        for name in (*stand_ins(site_packages), *UNVERSIONED)
    }
    failures = check_wanted(exported, site_packages)
    failures += check_complete(exported, site_packages)
    failures += check_nvml(simulator, site_packages)
    failures += check_unversioned(exported, site_packages)
    if family == "13":
        failures += check_versions(simulator, site_packages)
        failures += check_simple_versions(simulator, site_packages)
    for failure in failures:
        print(failure)
    counts = ", ".join(f"{len(names)} of {name}" for name, names in exported.items())
    print(f"{len(failures)} differences; exported: {counts}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
