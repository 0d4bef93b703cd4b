"""Launch a kernel with the name of one of PyTorch's, from an image in a library; print its result.

python known_kernel.py LIBRARY
"""

import ctypes
import sys

UNIFORM = (
    b"distribution_elementwise_grid_stride_kernel<float, 4, draw, "
    b"distribution_nullary_kernel<float, float, float4, CUDAGeneratorImpl*, draw, "
    b"uniform_kernel<CUDAGeneratorImpl*>(a)::{lambda(float)#1}>(b)::{lambda(int, float)#1}>"
)
COUNT = 256


class State(ctypes.Structure):
    """The generator's seed and offset, and the fields for captured graphs."""

    _fields_ = (
        ("seed", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("within", ctypes.c_uint64),
        ("captured", ctypes.c_uint64),
    )


class Transform(ctypes.Structure):
    """The target of the numbers, their stride, and their distribution."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("stride", ctypes.c_int),
        ("range", ctypes.c_float),
        ("begin", ctypes.c_float),
        ("end", ctypes.c_float),
    )


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
    check(cuda.cuLibraryGetKernel(ctypes.byref(kernel), library, UNIFORM))
    check(cuda.cuMemAlloc_v2(ctypes.byref(address), COUNT * 4))
    check(cuda.cuMemsetD32_v2(address, 0, ctypes.c_size_t(COUNT)))
    transform = Transform(address.value, 4, 1, 3, 4)
    arguments = (ctypes.c_int64(COUNT), State(7), ctypes.c_byte(), transform)
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(argument) for argument in arguments))
    check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, None, pointers, None))
    filled = (ctypes.c_float * COUNT)()
    check(cuda.cuMemcpyDtoH_v2(filled, address, ctypes.c_size_t(COUNT * 4)))
    print(*{int(number) for number in filled})
    check(cuda.cuMemFree_v2(address))


if __name__ == "__main__":
    main()
