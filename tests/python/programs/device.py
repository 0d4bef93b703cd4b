"""Device memory and kernels without a framework: the driver, by ctypes."""

from __future__ import annotations

import ctypes
import mmap

MIB = 1 << 20
_driver = ctypes.CDLL("libcuda.so.1")


def _check(result: int) -> None:
    if result != 0:
        raise MemoryError(f"CUDA error {result}")


_check(_driver.cuInit(0))
_context = ctypes.c_void_p()
_check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(_context), 0))
_check(_driver.cuCtxSetCurrent(_context))


def allocate(size: int) -> int:
    address = ctypes.c_uint64()
    _check(_driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
    return address.value


def free(address: int) -> None:
    _check(_driver.cuMemFree_v2(ctypes.c_uint64(address)))


def write(address: int, word: int) -> None:
    value = ctypes.c_uint64(word)
    _check(
        _driver.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.byref(value), ctypes.c_size_t(8))
    )


def fill(address: int, word: int, size: int) -> None:
    """Fills memory with 32-bit words, so that a copy of it uses host memory, too."""
    _check(
        _driver.cuMemsetD32_v2(
            ctypes.c_uint64(address), ctypes.c_uint(word), ctypes.c_size_t(size // 4)
        )
    )


def read(address: int) -> int:
    value = ctypes.c_uint64()
    _check(
        _driver.cuMemcpyDtoH_v2(ctypes.byref(value), ctypes.c_uint64(address), ctypes.c_size_t(8))
    )
    return value.value


def load(parameters: int) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
    """Returns a module with a kernel that has this number of address parameters and does nothing,
    and the kernel."""
    taken = ", ".join(f".param .u64 p{number}" for number in range(parameters))
    text = ".version 8.0\n.target sm_80\n.address_size 64\n"
    text += f".visible .entry kernel({taken}) {{ ret; }}\n"
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    _check(_driver.cuModuleLoadData(ctypes.byref(module), text.encode()))
    _check(_driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"kernel"))
    return module, kernel


def unload(module: ctypes.c_void_p) -> None:
    _check(_driver.cuModuleUnload(module))


_pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
_guard = ctypes.addressof(ctypes.c_char.from_buffer(_pages)) + mmap.PAGESIZE
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(_guard), mmap.PAGESIZE, 0) == 0


def launch(kernel: ctypes.c_void_p, addresses: list[int]) -> None:
    """Launches the kernel with these arguments; the memory after them cannot be read."""
    values = (ctypes.c_uint64 * len(addresses))(*addresses)
    size = len(addresses) * ctypes.sizeof(ctypes.c_void_p)
    pointers = (ctypes.c_void_p * len(addresses)).from_address(_guard - size)
    for number in range(len(addresses)):
        pointers[number] = ctypes.addressof(values) + 8 * number
    _check(
        _driver.cuLaunchKernel(
            kernel, *(1, 1, 1), *(1, 1, 1), 0, None, ctypes.c_void_p(_guard - size), None
        )
    )


class FillGraph:
    """A captured graph that fills a block of this many words with one word."""

    def __init__(self, address: int, words: int, word: int) -> None:
        self._stream = ctypes.c_void_p()
        _check(_driver.cuStreamCreate(ctypes.byref(self._stream), 1))
        _check(_driver.cuStreamBeginCapture_v2(self._stream, 0))
        count = ctypes.c_size_t(words)
        _check(_driver.cuMemsetD32Async(ctypes.c_uint64(address), word, count, self._stream))
        graph = ctypes.c_void_p()
        _check(_driver.cuStreamEndCapture(self._stream, ctypes.byref(graph)))
        self._executable = ctypes.c_void_p()
        _check(
            _driver.cuGraphInstantiateWithFlags(
                ctypes.byref(self._executable), graph, ctypes.c_uint64(0)
            )
        )

    def launch(self) -> int:
        """Launches the graph and waits for it; returns the driver's result of the launch."""
        result = _driver.cuGraphLaunch(self._executable, self._stream)
        _check(_driver.cuStreamSynchronize(self._stream))
        return result


def free_bytes() -> int:
    """Returns the device's free bytes from cuMemGetInfo."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _check(_driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    return free.value
