"""Tests the private copy of libunwind.

No other code of the process may see it. On the stacks of real PyTorch jobs it must agree with
vramstow's own unwinder.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from built import BUILD, ROOT, run_program

UNWINDER = BUILD / "lib" / "vramstow" / "libvramstow-unwind.so"

# A script that is run with stacks on and prints which library defines the functions that libunwind
# also defines.
WHO_DEFINES = """
import ctypes, json, os
class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
device = ctypes.c_int()
context = ctypes.c_void_p()
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
assert driver.cuCtxSetCurrent(context) == 0
address = ctypes.c_uint64()
assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 21)) == 0
gcc = ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)
process = ctypes.CDLL(None)
def definer(function):
    info = Info()
    assert process.dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(info)) != 0
    return os.path.basename(info.file.decode())
names = ["_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Backtrace", "backtrace"]
hidden = ["unw_backtrace", "_ULx86_64_step", "_U_dyn_register"]
print(json.dumps({
    "definers": {name: definer(getattr(process, name)) for name in names},
    "visible": [name for name in hidden if hasattr(process, name)],
    "maps": "libvramstow-unwind.so" in open("/proc/self/maps").read(),
}))
"""


def test_the_copy_has_a_name_of_its_own() -> None:
    dynamic = run_program("readelf", "-d", UNWINDER, check=True).stdout
    assert "[vramstowu.so." in dynamic
    assert "[libunwind.so" not in dynamic


@pytest.mark.parametrize("stacks", ["off", "all"])
def test_the_process_still_has_its_own_unwinder(stacks: str, tmp_path: Path) -> None:
    if not list((BUILD / "lib/vramstow/simulator").glob("libcuda.so.1")):
        pytest.skip("there is no simulated driver in this build")
    done = run_program(
        str(BUILD / "bin" / "vramstow"),
        *("run", "--simulate=h200", f"--stacks={stacks}", "--"),
        *(sys.executable, "-c", WHO_DEFINES),
        cwd=tmp_path,
        check=True,
        timeout=120,
    )
    said = json.loads(done.stdout.splitlines()[0])
    assert said["maps"] == (stacks == "all")
    assert said["visible"] == []
    for name, definer in said["definers"].items():
        expected = "libc.so.6" if name == "backtrace" else "libgcc_s.so.1"
        assert definer == expected, name


def judged(tmp_path: Path, *command: str) -> dict[str, str]:
    """Returns the lines that the comparison wrote about a simulated run."""
    report = tmp_path / "report.txt"
    done = run_program(
        str(BUILD / "bin" / "vramstow"),
        "run",
        "--simulate=h200",
        "--no-trace",
        "--",
        *command,
        cwd=tmp_path,
        timeout=600,
        env={
            **os.environ,
            "LD_PRELOAD": str(BUILD / "tests" / "libstackjudge.so"),
            "VRAMSTOW_JUDGE_UNWINDER": str(UNWINDER),
            "VRAMSTOW_JUDGE_REPORT": str(report),
        },
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert report.exists(), done.stderr[-2000:]
    return dict(line.split(" ", 1) for line in report.read_text().splitlines())


def test_on_ten_thousand_stacks_of_pytorch_both_walks_agree(tmp_path: Path) -> None:
    wanted = int(os.environ.get("VRAMSTOW_TEST_STACKS", "0"))
    if wanted == 0:
        pytest.skip("takes minutes: recorder_unwinder_long of the long suite runs it")
    pytest.importorskip("torch")
    stacks = 0
    for example, *arguments in (
        ("transformer.py", "--steps", "36"),
        ("convnet.py", "--steps", "4"),
        ("lstm.py", "--steps", "8"),
    ):
        said = judged(tmp_path, sys.executable, str(ROOT / "examples" / example), *arguments)
        print(example, said)
        assert said["differing"] == "0", said["first"]
        assert int(said["different"]) > 20
        stacks += int(said["stacks"])
    assert stacks >= wanted
