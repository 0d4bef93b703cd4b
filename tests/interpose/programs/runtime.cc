// A library with the name of the CUDA runtime. It finds the driver's functions as the runtime does,
// and its functions add one or two frames between the caller and the driver.
#include "tests/interpose/programs/host.h"

namespace {

__attribute__((noinline)) CUresult Inner(vramstow::host::AllocFunction alloc, size_t bytes) {
  CUdeviceptr block = 0;
  const CUresult result = alloc(&block, bytes);
  return block == 0 ? CUDA_ERROR_UNKNOWN : result;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int runtimeAllocate(size_t bytes) {
  using vramstow::host::Look;
  void* driver = vramstow::host::OpenDriver();
  auto* ask = Look<vramstow::host::GetProcAddressFunction>(driver, "cuGetProcAddress_v2");
  void* alloc = nullptr;
  HOST_CHECK(ask("cuMemAlloc", &alloc, 3020, 0, nullptr) == CUDA_SUCCESS);
  HOST_CHECK(Look<vramstow::host::InitFunction>(driver, "cuInit")(0) == CUDA_SUCCESS);
  volatile int result = Inner(reinterpret_cast<vramstow::host::AllocFunction>(alloc), bytes);
  return result;
}
