"""Launches by every kind of handle, in a capture, so that vramstow reads the arguments.

Prints what the driver refused: one line for each call that got a handle of the wrong kind.
"""

import ctypes
from ctypes import byref, c_char_p, c_size_t, c_uint, c_uint64, c_void_p

import cuda

RELAXED = 2
IMAGE = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry with_address(.param .u64 address) { ret; }
.visible .entry without() { ret; }
"""


def handles() -> tuple[c_void_p, c_void_p, list[c_void_p]]:
    """Returns a library and a module of it, of another image, and the handles of each."""
    library, of_library, module = c_void_p(), c_void_p(), c_void_p()
    cuda.call("cuLibraryLoadData", byref(library), IMAGE, None, None, 0, None, None, 0)
    cuda.call("cuLibraryGetModule", byref(of_library), library)
    cuda.call("cuModuleLoadData", byref(module), IMAGE)
    handed: list[c_void_p] = []
    for name in (b"with_address", b"without"):
        kernel, of_kernel, of_module, function = (c_void_p() for _ in range(4))
        cuda.call("cuLibraryGetKernel", byref(kernel), library, c_char_p(name))
        cuda.call("cuKernelGetFunction", byref(of_kernel), kernel)
        cuda.call("cuModuleGetFunction", byref(of_module), of_library, c_char_p(name))
        cuda.call("cuModuleGetFunction", byref(function), module, c_char_p(name))
        handed += [kernel, of_kernel, of_module, function]
    # The array has more elements than there are handles; the driver leaves the remaining elements
    # unset.
    room = 5
    for enumerate_, owner in (
        ("cuLibraryEnumerateKernels", library),
        ("cuModuleEnumerateFunctions", module),
    ):
        listed = (c_void_p * room)(*[0xDEAD0] * room)
        cuda.call(enumerate_, listed, room, owner)
        handed += [c_void_p(handle) for handle in listed[:2]]
    return library, module, handed


def launch(handed: list[c_void_p], stream: c_void_p, address: int) -> None:
    argument = c_uint64(address)
    arguments = (c_void_p * 1)(ctypes.addressof(argument))
    for handle in handed:
        cuda.call("cuLaunchKernel", handle, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)


def refusals() -> list[str]:
    text = ctypes.create_string_buffer(64 << 10)
    size = c_size_t(len(text))
    cuda.call("cuLogsDumpToMemory", None, text, byref(size), c_uint(0))
    lines = text.value.decode().splitlines()
    return [line for line in lines if "CUDA_ERROR_INVALID_HANDLE" in line]


def main() -> None:
    cuda.start()
    address, other = cuda.allocate(8 << 20), cuda.allocate(8 << 20)
    stream, graph = c_void_p(), c_void_p()
    cuda.call("cuStreamCreate", byref(stream), 1)
    library, module, handed = handles()
    for _ in range(2):
        cuda.call("cuStreamBeginCapture_v2", stream, RELAXED)
        launch(handed, stream, address)
        cuda.call("cuStreamEndCapture", stream, byref(graph))
    cuda.call("cuLibraryUnload", library)
    cuda.call("cuModuleUnload", module)
    for line in refusals():
        print("refused:", line)
    # The block that is an argument of the graph stays where it is.
    cuda.vramstow.vramstow_offload(None)
    print("on the host:", *(cuda.access(cuda.HOST_LOCATION, block) for block in (address, other)))


if __name__ == "__main__":
    main()
