#include "simulator/driver/host_memory.h"

#include <sys/mman.h>

#include "base/rounding.h"
#include "simulator/device/sizes.h"
#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"

namespace vramstow::simulator {
namespace {

constexpr unsigned kHostAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

Block* MakeHostBlock(Call& call, size_t bytes, BlockKind kind, unsigned flags) {
  if (RoundUp(bytes, kSmallPage) < bytes) return nullptr;
  void* pages = MapHostPages(bytes);
  if (pages == nullptr) return nullptr;
  Block* block = call.machine().memory.AddHost(reinterpret_cast<uintptr_t>(pages), bytes, kind,
                                               call.context());
  block->flags = flags;
  return block;
}

CUresult AllocateHost(const char* name, void** memory, size_t bytes, unsigned flags) {
  return ServeMemory(name, Needs::kContext, {.device = kHost, .bytes = bytes},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (memory == nullptr || bytes == 0 || (flags & ~kHostAllocFlags) != 0) {
                         return CUDA_ERROR_INVALID_VALUE;
                       }
                       const CUresult refused = RefuseUnsafe(call);
                       if (refused != CUDA_SUCCESS) return refused;
                       const Block* block =
                           MakeHostBlock(call, bytes, BlockKind::kHostPinned, flags);
                       if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
                       call.machine().timeline.Advance(call.machine().model.PinNs(bytes));
                       line.address = block->address;
                       *memory = reinterpret_cast<void*>(block->address);
                       return CUDA_SUCCESS;
                     });
}

}  // namespace

void* MapHostPages(uint64_t bytes) {
  void* pages = mmap(nullptr, RoundUp(bytes, kSmallPage), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void UnmapHostPages(Contents* contents, uint64_t address, uint64_t bytes) {
  contents->ForgetHost(address, bytes);
  munmap(reinterpret_cast<void*>(static_cast<uintptr_t>(address)), RoundUp(bytes, kSmallPage));
}

void ReleaseHostPages(Contents* contents, const Block& block) {
  if (block.kind != BlockKind::kHostPinned && block.kind != BlockKind::kManaged) return;
  UnmapHostPages(contents, block.address, block.size);
}

bool IsPinned(const Block* block) {
  return block != nullptr &&
         (block->kind == BlockKind::kHostPinned || block->kind == BlockKind::kHostRegistered ||
          block->kind == BlockKind::kManaged);
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags) {
  return AllocateHost("cuMemHostAlloc", memory, bytes, flags);
}

CUresult cuMemAllocHost(void** memory, size_t bytes) {
  return AllocateHost("cuMemAllocHost", memory, bytes, 0);
}

CUresult cuMemFreeHost(void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return ServeMemory(
      "cuMemFreeHost", Needs::kContext, {.device = kHost, .address = address},
      [&](Call& call, Call::Line& line) -> CUresult {
        Block* block = call.machine().memory.FindExact(address);
        if (block == nullptr || block->kind != BlockKind::kHostPinned || block->pool != nullptr) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        line.bytes = block->requested;
        const CUresult refused = RefuseUnsafe(call);
        if (refused != CUDA_SUCCESS) return refused;
        const CUresult waited = WaitForContext(&call.state(), *call.context());
        if (waited != CUDA_SUCCESS) return waited;
        block = call.machine().memory.FindExact(address);
        if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
        ReleaseHostPages(&call.machine().contents, *block);
        call.machine().memory.Release(block);
        call.machine().timeline.Advance(call.machine().model.UnpinNs(line.bytes));
        return CUDA_SUCCESS;
      });
}

#undef cuMemHostRegister
CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned int flags) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return ServeMemory(
      "cuMemHostRegister", Needs::kContext, {.device = kHost, .address = address, .bytes = bytes},
      [&](Call& call, Call::Line&) -> CUresult {
        if (memory == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0 ||
            !EndsInAddresses(address, bytes)) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult refused = RefuseUnsafe(call);
        if (refused != CUDA_SUCCESS) return refused;
        Memory& table = call.machine().memory;
        if (call.machine().contents.IsDevice(address)) return CUDA_ERROR_INVALID_VALUE;
        if (table.Overlaps(address, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        Block* block = table.AddHost(address, bytes, BlockKind::kHostRegistered, call.context());
        block->flags = flags;
        return CUDA_SUCCESS;
      });
}

CUresult cuMemHostUnregister(void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return ServeMemory("cuMemHostUnregister", Needs::kContext, {.device = kHost, .address = address},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
                       Block* block = call.machine().memory.FindExact(address);
                       if (block == nullptr || block->kind != BlockKind::kHostRegistered) {
                         return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
                       }
                       line.bytes = block->requested;
                       const CUresult waited = WaitForContext(&call.state(), *call.context());
                       if (waited != CUDA_SUCCESS) return waited;
                       block = call.machine().memory.FindExact(address);
                       if (block == nullptr) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
                       call.machine().memory.Release(block);
                       return CUDA_SUCCESS;
                     });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* memory, unsigned int flags) {
  return Serve("cuMemHostGetDevicePointer", Needs::kContext, [&](Call& call) {
    if (address == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto host = reinterpret_cast<uintptr_t>(memory);
    const Block* block = call.machine().memory.FindAround(host);
    if (!IsPinned(block)) return CUDA_ERROR_INVALID_VALUE;
    *address = host;  // unified addressing
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* memory) {
  return Serve("cuMemHostGetFlags", Needs::kContext, [&](Call& call) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Block* block = call.machine().memory.FindAround(reinterpret_cast<uintptr_t>(memory));
    if (block == nullptr || block->kind != BlockKind::kHostPinned) return CUDA_ERROR_INVALID_VALUE;
    // With unified addressing every pinned block is mapped into the device's addresses.
    *flags = block->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  return ServeMemory("cuMemAllocManaged", Needs::kContext, {.bytes = bytes},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
                       if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
                         return CUDA_ERROR_INVALID_VALUE;
                       }
                       const CUresult refused = RefuseUnsafe(call);
                       if (refused != CUDA_SUCCESS) return refused;
                       Block* block = MakeHostBlock(call, bytes, BlockKind::kManaged, flags);
                       if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
                       block->device = call.device();
                       line.address = block->address;
                       *address = block->address;
                       return CUDA_SUCCESS;
                     });
}

}  // extern "C"
