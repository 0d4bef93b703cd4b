// A library whose constructor allocates and frees device memory, in the context of the thread that
// loads it. All of this happens under the dynamic linker's lock.
#include <initializer_list>

#include "tests/interpose/programs/pool_api.h"

namespace {

__attribute__((constructor)) void AllocateUnderTheLinkersLock() {
  const vramstow::host::PoolApi api = vramstow::host::LoadPoolApi();
  for (const size_t size : {size_t{512}, size_t{5} << 20, size_t{70} << 20}) {
    CUdeviceptr block = 0;
    HOST_CHECK(api.Alloc(&block, size) == CUDA_SUCCESS);
    HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  }
}

}  // namespace
