"""Asks a driver library one of the questions below, and prints the answers as JSON.

    questions.py QUESTION LIBRARY

Only documented functions are called. Functions that might not return are called in a child.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

ROW = re.compile(r"VRAMSTOW_DRIVER_FUNCTION\((\w+), (\w+), (\d+), (\w+)\)")
FLAGS = (0, 1, 2, 3)
# Results and versions, some of which do not exist.
RESULTS = range(1100)
ODD_VERSIONS = (0, 1000, 99990)


def functions(table: Path | None = None) -> list[tuple[str, str, int]]:
    """Returns name, exported symbol and version of each form of each documented function."""
    rows = ROW.findall((table or Path(os.environ["VRAMSTOW_FUNCTIONS"])).read_text())
    return [(name, symbol, int(version)) for name, symbol, version, _ in rows]


def symbol_addresses(library: ctypes.CDLL) -> dict[str, int]:
    found = {}
    for _, symbol, _ in functions():
        try:
            address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
        except AttributeError:
            continue
        assert address is not None
        found[symbol] = address
    return found


class Names:
    """Maps an address to the name of the exported function that begins there."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.by_address: dict[int, list[str]] = {}
        for symbol, address in symbol_addresses(library).items():
            self.by_address.setdefault(address, []).append(symbol)

    def of(self, address: int | None) -> str | None:
        return None if not address else "/".join(self.by_address.get(address, ["unknown"]))


def look_ups(library: ctypes.CDLL) -> dict[str, Any]:
    """Looks functions up by name, version and flag. Returns result, status and symbol of the newer
    form of the look-up, and of the older."""
    names = Names(library)
    newer = getattr(library, "cuGetProcAddress_v2", None)
    older = library.cuGetProcAddress
    versions = sorted({version for _, _, version in functions()}) + list(ODD_VERSIONS)
    answers: dict[str, Any] = {}
    for name in sorted({name for name, _, _ in functions()} | {"", "cuNoSuchFunction"}):
        for version in versions:
            for flag in FLAGS:
                place, status = ctypes.c_void_p(), ctypes.c_int(-1)
                ask = (name.encode(), ctypes.byref(place), version, ctypes.c_uint64(flag))
                answer: list[Any] = []
                if newer is not None:
                    answer = [newer(*ask, ctypes.byref(status)), status.value]
                    answer.append(names.of(place.value))
                place.value = None
                answer += [older(*ask), names.of(place.value)]
                answers[f"{name} {version} {flag}"] = answer
    return answers


class DlInfo(ctypes.Structure):
    _fields_ = [
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p),
    ]  # fmt: skip


def files(library: ctypes.CDLL) -> dict[str, list[str]]:
    """Returns the file that contains each exported function, as dlsym finds it."""
    dladdr = ctypes.CDLL(None).dladdr
    answers = {}
    for symbol, address in symbol_addresses(library).items():
        info = DlInfo()
        assert dladdr(ctypes.c_void_p(address), ctypes.byref(info)) != 0
        answers[symbol] = [os.path.basename(os.path.realpath(info.file.decode()))]
    return answers


def shared_addresses(library: ctypes.CDLL) -> dict[str, list[str]]:
    """Returns exported functions that have the same address."""
    groups = Names(library).by_address.items()
    return {hex(address): symbols for address, symbols in groups if len(symbols) > 1}


def errors(library: ctypes.CDLL) -> dict[str, Any]:
    """Returns name and text of each result code."""
    answers: dict[str, Any] = {}
    for number in RESULTS:
        name, text = ctypes.c_char_p(b"untouched"), ctypes.c_char_p(b"untouched")
        results = [
            library.cuGetErrorName(number, ctypes.byref(name)),
            library.cuGetErrorString(number, ctypes.byref(text)),
        ]
        texts = [value and value.decode() for value in (name.value, text.value)]
        answers[str(number)] = results + texts
    return answers


def in_child(path: str, symbol: str, failed_init: bool) -> int | None:
    """Returns the result of a call with memory for each argument, or None if the call does not
    return."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        library = ctypes.CDLL(path)
        memory = ctypes.create_string_buffer(1 << 16)
        function = getattr(library, symbol)
        if failed_init:
            library.cuInit(0)
        result = function(*[ctypes.byref(memory)] * 4, *[ctypes.c_void_p()] * 8)
        os.write(writer, str(result).encode())
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 100)
    os.close(reader)
    os.waitpid(child, 0)
    return int(answer) if answer else None


def uninitialised(library: ctypes.CDLL) -> dict[str, list[int | None]]:
    """Returns the answers of each function before cuInit, and after a cuInit that failed."""
    path = sys.argv[2]
    return {
        symbol: [in_child(path, symbol, False), in_child(path, symbol, True)]
        for symbol in symbol_addresses(library)
        if symbol != "cuInit"
    }


def start(library: ctypes.CDLL) -> dict[str, list[int]]:
    """Returns result and number of cuDriverGetVersion, and the result of cuInit."""
    number = ctypes.c_int()
    result = library.cuDriverGetVersion(ctypes.byref(number))
    return {"version": [result, number.value], "cuInit": [library.cuInit(0)]}


def main() -> None:
    questions = {
        question.__name__: question
        for question in (look_ups, files, shared_addresses, errors, uninitialised, start)
    }
    json.dump(questions[sys.argv[1]](ctypes.CDLL(sys.argv[2])), sys.stdout)
    # The message shows a reader who compares the answers that vramstow was really loaded.
    if "libvramstow-core.so" in Path("/proc/self/maps").read_text():
        print("libvramstow-core.so is loaded", file=sys.stderr)


if __name__ == "__main__":
    main()
