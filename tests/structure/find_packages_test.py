"""Checks where CMake finds the packages and the CUDA headers of a build."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import tree

BEGIN = f"""
cmake_minimum_required(VERSION 3.25)
project(small NONE)
list(APPEND CMAKE_MODULE_PATH {tree.ROOT}/cmake)
"""
HEADERS = ("cublas_v2.h", "cublasLt.h", "cudnn.h", "cupti.h")


def configure(folder: Path, text: str, **more: str) -> str:
    (folder / "CMakeLists.txt").write_text(BEGIN + text)
    done = subprocess.run(
        ("cmake", "-S", folder, "-B", folder / "build"),
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


def test_packages_of_an_active_conda_environment_are_not_taken(tmp_path: Path) -> None:
    """Its folder bin stands in PATH, in whose neighbours CMake searches for packages."""
    packages = tmp_path / "conda/lib/cmake"
    for name in ("absl", "CLI11", "nlohmann_json", "GTest", "benchmark"):
        (packages / name).mkdir(parents=True)
        (packages / name / f"{name}Config.cmake").write_text('message("from PATH")\n')
    path = f"{tmp_path}/conda/bin:{os.environ['PATH']}"
    assert "from PATH" in configure(tmp_path, "find_package(absl)", PATH=path)
    (tmp_path / "build/CMakeCache.txt").unlink()
    assert "from PATH" not in configure(tmp_path, "find_package(AbslStatic)", PATH=path)
    for file in tree.files():
        if file.name == "CMakeLists.txt" or file.suffix == ".cmake":
            found = re.findall(
                r"^ *find_package\((?:absl|CLI11|nlohmann_json|GTest|benchmark) [^)]*\)",
                file.read_text(),
                re.MULTILINE,
            )
            # An example is a project of its own.
            if file.relative_to(tree.ROOT).parts[0] != "examples":
                assert all("NO_SYSTEM_ENVIRONMENT_PATH" in one for one in found), file


def test_cuda_headers_of_the_environment_come_before_older_ones_of_the_system(
    tmp_path: Path,
) -> None:
    nvidia = tmp_path / ".venv/lib/python3.11/site-packages/nvidia"
    toolkit, nccl, system = (
        nvidia / "cu13/include",
        nvidia / "nccl/include",
        tmp_path / "system/include",
    )
    (toolkit / "crt").mkdir(parents=True)
    for name in (*HEADERS, "cuda_runtime_api.h", "crt/host_defines.h"):
        (toolkit / name).touch()
    (toolkit / "cuda.h").write_text("#define CUDA_VERSION 13020\n")
    for folder in (nccl, system):
        folder.mkdir(parents=True)
        (folder / "nccl.h").touch()
    text = f"""
    set(VRAMSTOW_ROOT {tmp_path})
    set(VRAMSTOW_CUDA_INCLUDE {toolkit})
    set(CMAKE_SYSTEM_PREFIX_PATH {tmp_path}/system)
    find_package(CudaHeaders REQUIRED)
    message("found <${{CudaHeaders_nccl_h}}>")
    """
    assert f"found <{nccl}>" in configure(tmp_path, text)
    # What has gone is searched again.
    (nccl / "nccl.h").unlink()
    assert f"found <{system}>" in configure(tmp_path, text)
