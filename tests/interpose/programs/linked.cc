// A program that is linked to libcuda and calls it directly.
#include "tests/interpose/programs/host.h"

int main() {
  HOST_CHECK(cuInit(0) == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  HOST_CHECK(cuMemAlloc_v2(&block, 1000) == CUDA_SUCCESS);
  // Tests calls with five integer arguments, and with a structure by value on the stack.
  size_t pitch = 0;
  CUdeviceptr pitched = 0;
  HOST_CHECK(cuMemAllocPitch_v2(&pitched, &pitch, 100, 10, 4) == CUDA_SUCCESS);
  HOST_CHECK(pitch == 512);
  // The address of a function is the same for every way to find it.
  CUresult (*volatile own)(CUdeviceptr) = cuMemFree_v2;
  HOST_CHECK(own(block) == CUDA_SUCCESS);
  HOST_CHECK(cuMemFree_v2(pitched) == CUDA_SUCCESS);
  return 0;
}
