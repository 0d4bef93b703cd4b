// A library whose constructor uses CUDA: it runs before main, and as a dependency of the program or
// as a preload before or after vramstow's own constructors.
#include "tests/interpose/programs/host.h"

namespace {

__attribute__((constructor)) void UseCudaEarly() {
  const vramstow::host::Api api = vramstow::host::LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  HOST_CHECK(api.alloc(&block, 6000) == CUDA_SUCCESS);
}

}  // namespace
