// A library that is linked to libcuda. It is built a second time as a library that calls the driver
// through a runtime library (-DTHROUGH_RUNTIME), and a third time with a runtime of its own inside
// (-DPRIVATE_RUNTIME).
#include "tests/interpose/programs/host.h"

#ifdef THROUGH_RUNTIME
extern "C" int runtimeAllocate(size_t bytes);
#endif

extern "C" __attribute__((visibility("default"))) int AllocateOneBlock() {
#if defined(THROUGH_RUNTIME)
  // The result is stored first, because after a tail call this library would have no frame on the
  // stack.
  volatile int result = runtimeAllocate(5000);
  return result;
#elif defined(PRIVATE_RUNTIME)
  using vramstow::host::Look;
  void* driver = vramstow::host::OpenDriver();
  auto* ask = Look<vramstow::host::GetProcAddressFunction>(driver, "cuGetProcAddress_v2");
  void* init = nullptr;
  void* alloc = nullptr;
  HOST_CHECK(ask("cuInit", &init, 2000, 0, nullptr) == CUDA_SUCCESS);
  HOST_CHECK(ask("cuMemAlloc", &alloc, 3020, 0, nullptr) == CUDA_SUCCESS);
  HOST_CHECK(reinterpret_cast<vramstow::host::InitFunction>(init)(0) == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  return reinterpret_cast<vramstow::host::AllocFunction>(alloc)(&block, 5000);
#else
  CUdeviceptr block = 0;
  const int init = cuInit(0);
  return init != 0 ? init : static_cast<int>(cuMemAlloc_v2(&block, 5000));
#endif
}
