"""Launch a kernel with the name of one of PyTorch's, from an image in a library; print the result.

python known_kernel.py LIBRARY
"""

import ctypes
import sys

FILL = (
    b"_ZN2at6native29vectorized_elementwise_kernel"
    b"ILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"
)
COUNT = 256


def check(result: int) -> None:
    assert result == 0, result


def main() -> None:
    cuda = ctypes.CDLL("libcuda.so.1")
    image = ctypes.CDLL(sys.argv[1]).image
    context, library, kernel, address = (ctypes.c_void_p() for _ in range(4))
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuLibraryLoadData(ctypes.byref(library), image, None, None, 0, None, None, 0))
    check(cuda.cuLibraryGetKernel(ctypes.byref(kernel), library, FILL))
    check(cuda.cuMemAlloc_v2(ctypes.byref(address), COUNT * 4))
    check(cuda.cuMemsetD32_v2(address, 0, ctypes.c_size_t(COUNT)))
    arguments = (ctypes.c_int(COUNT), ctypes.c_float(3), address)
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(argument) for argument in arguments))
    check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, None, pointers, None))
    filled = (ctypes.c_float * COUNT)()
    check(cuda.cuMemcpyDtoH_v2(filled, address, ctypes.c_size_t(COUNT * 4)))
    print(*set(filled))
    check(cuda.cuMemFree_v2(address))


if __name__ == "__main__":
    main()
