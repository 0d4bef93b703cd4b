// Implements allocating, freeing and querying device memory.
#include <cuda.h>

#include "base/rounding.h"
#include "simulator/device/sizes.h"
#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/ipc.h"
#include "simulator/driver/pool.h"

namespace vramstow::simulator {
namespace {

// Rows of a pitched block begin at a multiple of this, as on GPUs.
constexpr size_t kPitchUnit = 512;

CUresult Allocate(Call& call, CUdeviceptr* address, size_t bytes, BlockKind kind) {
  Block* block = nullptr;
  const Result result =
      call.machine().memory.Allocate(call.device(), bytes, kind, call.context(), &block);
  if (result != Result::kSuccess) return ToDriver(result);
  *address = block->address;
  call.machine().timeline.Advance(call.machine().model.AllocateNs(bytes));
  return CUDA_SUCCESS;
}

CUresult Free(Call& call, CUdeviceptr address, Call::Line* line) {
  Memory& memory = call.machine().memory;
  Block* block = memory.FindExact(address);
  if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  line->bytes = block->requested;
  line->device = block->device;
  const bool freeable = block->kind == BlockKind::kDevice || block->kind == BlockKind::kPitched ||
                        block->kind == BlockKind::kManaged || IsFromPool(*block) ||
                        (block->kind == BlockKind::kImported && block->pool != nullptr);
  if (!freeable) return CUDA_ERROR_INVALID_VALUE;
  const CUresult refused = RefuseUnsafe(call);
  if (refused != CUDA_SUCCESS) return refused;
  // Freeing waits for all work of the context, as the driver does.
  auto* owner = static_cast<Context*>(const_cast<void*>(block->owner));
  const CUresult result = WaitForContext(&call.state(), *owner);
  if (result != CUDA_SUCCESS) return result;
  block = memory.FindExact(address);  // another thread may have freed it
  if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (IsFromPool(*block)) {
    FreeToPool(call, block);
    return CUDA_SUCCESS;
  }
  if (block->kind == BlockKind::kImported) {
    EndImport(&call.machine(), block);
    return CUDA_SUCCESS;
  }
  WithdrawBlock(*block);
  ReleaseHostPages(&call.machine().contents, *block);
  memory.Release(block);
  call.machine().timeline.Advance(call.machine().model.FreeNs(line->bytes));
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return ServeMemory("cuMemAlloc", Needs::kContext, {.bytes = bytes},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
                       const CUresult refused = RefuseUnsafe(call);
                       if (refused != CUDA_SUCCESS) return refused;
                       const CUresult result = Allocate(call, address, bytes, BlockKind::kDevice);
                       if (result == CUDA_SUCCESS) line.address = *address;
                       return result;
                     });
}

CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                         unsigned int element) {
  return ServeMemory("cuMemAllocPitch", Needs::kContext, {.bytes = MultiplySizes(width, height)},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (address == nullptr || pitch == nullptr || width == 0 || height == 0) {
                         return CUDA_ERROR_INVALID_VALUE;
                       }
                       if (element != 4 && element != 8 && element != 16)
                         return CUDA_ERROR_INVALID_VALUE;
                       const CUresult refused = RefuseUnsafe(call);
                       if (refused != CUDA_SUCCESS) return refused;
                       const uint64_t row = vramstow::RoundUp(width, kPitchUnit);
                       line.bytes = MultiplySizes(row, height);
                       if (row < width || line.bytes == kHugeSize) return CUDA_ERROR_INVALID_VALUE;
                       const CUresult result =
                           Allocate(call, address, line.bytes, BlockKind::kPitched);
                       if (result != CUDA_SUCCESS) return result;
                       *pitch = row;
                       line.address = *address;
                       return CUDA_SUCCESS;
                     });
}

CUresult cuMemFree(CUdeviceptr address) {
  return ServeMemory("cuMemFree", Needs::kContext, {.address = address, .skip = address == 0},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (address == 0) return CUDA_SUCCESS;  // as documented, nothing is done
                       return Free(call, address, &line);
                     });
}

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return Serve("cuMemGetInfo", Needs::kContext, [&](Call& call) {
    const Memory& memory = call.machine().memory;
    if (free != nullptr) *free = memory.free(call.device());
    if (total != nullptr) *total = memory.total(call.device());
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  return Serve("cuMemGetAddressRange", Needs::kContext, [&](Call& call) {
    uint64_t start = 0;
    uint64_t bytes = 0;
    if (const Block* block = call.machine().memory.FindAround(address)) {
      start = block->address;
      bytes = block->requested;
    } else if (const Mapping* mapping = call.machine().virtual_memory.FindMapping(address)) {
      start = mapping->address;
      bytes = mapping->size;
    } else {
      return CUDA_ERROR_NOT_FOUND;
    }
    if (base != nullptr) *base = start;
    if (size != nullptr) *size = bytes;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
