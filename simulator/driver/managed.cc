// Managed memory: advice, prefetch and what is known of a range. Its pages are always the host's
// here, so advice and prefetch are checked and have no effect.
#include <cuda.h>
#include <string.h>

#include "simulator/driver/context.h"
#include "simulator/driver/stream.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

bool IsManaged(Call& call, CUdeviceptr address, size_t size) {
  const Block* block = call.machine().memory.FindAround(address);
  return block != nullptr && block->kind == BlockKind::kManaged &&
         size <= block->size - (address - block->address);
}

CUresult Advise(CUdeviceptr address, size_t size, CUmem_advise advice) {
  return Serve("cuMemAdvise", Needs::kContext, [&](Call& call) {
    if (size == 0 || advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
        advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return IsManaged(call, address, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult Prefetch(CUdeviceptr address, size_t size, CUstream handle) {
  return Serve("cuMemPrefetchAsync", Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (size == 0 || !IsManaged(call, address, size)) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture == nullptr) Submit(call, stream, nullptr);
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

#undef cuMemAdvise
CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device) {
  (void)device;
  return Advise(address, size, advice);
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice,
                        CUmemLocation location) {
  (void)location;
  return Advise(address, size, advice);
}

#undef cuMemPrefetchAsync
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream stream) {
  (void)device;
  return Prefetch(address, size, stream);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation location,
                               unsigned int flags, CUstream stream) {
  (void)location;
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : Prefetch(address, size, stream);
}

}  // extern "C"
