// What the delegates ask of the pool. Every function says whether the pool has served the call;
// where it has not, the driver is to be asked as if there were no pool.
//
// Ownership: none. Threads: any. Errors: the driver's numbers. errno is kept. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOLED_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOLED_H_

#include <cstdint>
#include <type_traits>

#include "base/event.h"
#include "interpose/core/handlers/entry.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow::handlers {

// The forms of CUDA 2 have 32-bit addresses, which no pool has.
template <typename Pointer>
constexpr bool kPoolable = std::is_same_v<Pointer, CUdeviceptr>;

enum class PoolAnswer : uint8_t {
  kAskDriver,    // nothing happened
  kServed,       // the event is recorded
  kOutOfMemory,  // over the user's limit; the event is recorded
};
inline CUresult ResultOf(PoolAnswer answer) {
  return answer == PoolAnswer::kServed ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

struct PooledRequest {
  uint64_t size = 0;
  uint64_t requested = 0;  // by the caller, where that is less; 0: the same
  MemoryKind memory = MemoryKind::kDevice;
};
PoolAnswer AllocatePooled(const Entry& entry, const PooledRequest& request, CUdeviceptr* address);

struct Pitched {
  uint64_t width;  // bytes
  uint64_t height;
  unsigned int element_size;
};
PoolAnswer AllocatePitchedPooled(const Entry& entry, CUdeviceptr* address, size_t* pitch,
                                 const Pitched& request);

// True: the address is the pool's, *result is the answer, and the events are recorded. The first
// waits for submitted work where a program could tell, the second never.
bool FreePooled(const Entry& entry, CUdeviceptr address, CUresult* result);
bool FreePooledAsync(const Entry& entry, CUdeviceptr address, CUresult* result);

// What is free for the process, made of what the driver said.
void AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);

// The address is the pool's. *size 0: in no live block.
struct PooledBlock {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // as asked for
  uint64_t id = 0;
  CUcontext context = nullptr;
  bool can_share = false;  // by cuIpc
};
bool FindPooled(CUdeviceptr address, PooledBlock* block);
bool IsPooled(CUdeviceptr address);

// The answer to cuPointerGetAttribute for what the pool knows better than the driver; false: as the
// driver says.
bool PooledAttribute(const PooledBlock& block, CUpointer_attribute attribute, void* data);

// cuIpc for memory of pools: of this process, of another, and back. The events are recorded, but
// for that of the first.
CUresult ExportPooled(CUdeviceptr address, CUipcMemHandle* handle);
CUresult OpenPoolHandle(const Entry& entry, CUdeviceptr* address, const CUipcMemHandle& handle);
bool ClosePoolHandle(const Entry& entry, CUdeviceptr address, CUresult* result);

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_POOLED_H_
