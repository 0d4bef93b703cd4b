// A library whose constructor uses CUDA before main(). It is a dependency of the program, or
// preloaded before or after vramstow.
#include "tests/interpose/programs/host.h"

namespace {

__attribute__((constructor)) void UseCudaEarly() {
  const vramstow::host::Api api = vramstow::host::LoadApi();
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  HOST_CHECK(api.alloc(&block, 6000) == CUDA_SUCCESS);
}

}  // namespace
