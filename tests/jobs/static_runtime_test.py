"""A library with a static CUDA runtime asks the driver for private tables: a sentence names it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import VRAMSTOW

# The first calls of a static runtime, as far as the driver sees them.
LIBRARY = """
#include <dlfcn.h>
int start(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*ask)(const void**, const void*) =
      (int (*)(const void**, const void*))dlsym(driver, "cuGetExportTable");
  const void* table = 0;
  static const char id[16] = "private tables";
  return init(0) == 0 && ask(&table, id) != 0 && ask(&table, id) != 0 ? 0 : 1;
}
"""
SENTENCE = (
    "vramstow: libwith_runtime.so has a CUDA runtime linked into it, which asks the driver for "
    "private tables; a simulated driver has none, so it cannot be rehearsed. It works on a card."
)


def test_the_library_is_named_once(tmp_path: Path) -> None:
    library = tmp_path / "libwith_runtime.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"],
        input=LIBRARY,
        text=True,
        check=True,
    )
    program = f"import ctypes; raise SystemExit(ctypes.CDLL({str(library)!r}).start())"
    done = subprocess.run(
        [VRAMSTOW, "run", "--no-trace", "--simulate=h100", "--", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines().count(SENTENCE) == 1, done.stderr
    assert done.stdout == ""
