// PoolService is the only interface through which the handlers of the driver's functions query the
// pools and notify them.
//
// Idea: a handler knows what its call means. This class decides which pool serves it, what is
// recorded, and how the user's settings apply. If a function reports that the pool did not serve
// the call, the caller asks the driver as if there were no pool.
//
// Ownership: static storage. Threads: any. Errors: the driver's numbers. errno is preserved. Units:
// bytes, device numbers.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_SERVICE_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_SERVICE_H_

#include <cstdint>
#include <type_traits>

#include "base/event.h"
#include "interpose/core/pools/offloading.h"
#include "interpose/core/runtime/call_site.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow {

// False for the functions of CUDA 2, because their addresses have only 32 bits. The pool does not
// serve them.
template <typename Pointer>
constexpr bool kPoolable = std::is_same_v<Pointer, CUdeviceptr>;

enum class PoolAnswer : uint8_t {
  kAskDriver,    // the pool did not serve the call
  kServed,       // the event is recorded
  kOutOfMemory,  // the request exceeds the user's limit; the event is recorded
};
inline CUresult ResultOf(PoolAnswer answer) {
  return answer == PoolAnswer::kServed ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

struct PooledRequest {
  uint64_t size = 0;
  uint64_t requested = 0;  // bytes that the caller requested; 0 if they equal `size`
  MemoryKind memory = MemoryKind::kDevice;
};

struct PitchedRequest {
  uint64_t width;  // bytes
  uint64_t height;
  unsigned int element_size;
};

// A live block of the pool; `size` is 0 if the address is in no live block.
struct PooledBlock {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // the requested size
  uint64_t id = 0;
  CUcontext context = nullptr;
  int16_t device = 0;
  bool can_share = false;  // true if cuIpc can share it; false for blocks in large chunks
  // Size of the pieces of physical memory under the block, which begin at multiples of this size; 0
  // if there is one piece only.
  uint64_t chunk_bytes = 0;
};

// The contexts of the source and the destination of a copy.
struct CopyEnds {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
};

// A block that the device of a call cannot access.
struct OutOfReach {
  CUcontext context = nullptr;  // the block's context
  CUcontext callers = nullptr;  // the context in which the call submits work
};

inline constexpr int16_t kEveryDevice = kNoDevice - 1;

class PoolService {
 public:
  struct Links {
    const Process& process;
    const Driver& driver;
    CallerTable& callers;
    Trace& trace;
    FreeBytes& free_bytes;
    Pools& pools;
    Offloaders& offloaders;
    Offloading& offloading;
    KernelArguments& kernel_arguments;
    HandleKinds& handle_kinds;
    Launches& launches;
    Exports& exports;
    Imports& imports;
  };

  constexpr explicit PoolService(const Links& links) : links_(links) {}
  PoolService(const PoolService&) = delete;
  PoolService& operator=(const PoolService&) = delete;

  // --- Allocating and freeing
  PoolAnswer Allocate(const CallSite& site, const PooledRequest& request,
                      CUdeviceptr* address) const;
  PoolAnswer AllocatePitched(const CallSite& site, CUdeviceptr* address, size_t* pitch,
                             const PitchedRequest& request) const;

  // These functions return true if the address is the pool's; *result is then the result of the
  // call, and the events are recorded. Free waits for submitted work if the program could notice
  // that it does not wait. FreeAsync never waits.
  bool Free(const CallSite& site, CUdeviceptr address, CUresult* result) const;
  bool FreeAsync(const CallSite& site, CUdeviceptr address, CUresult* result) const;

  // Releases the memory that the pools cache on the device, on the device of the current context
  // for kNoDevice, or on all devices for kEveryDevice. Waits for at most `wait_ns` for work that
  // uses freed memory. Returns true if any memory was released. Called when the driver lacks memory
  // for a call that no pool serves.
  bool ReleaseCached(int16_t device, uint64_t wait_ns) const;

  // --- Questions
  // True if an address belongs to a pool, inside a block or not.
  bool Owns(CUdeviceptr address) const;
  // Finds the block of an address. Returns true if the address belongs to a pool; the block's size
  // is 0 if no live block contains the address.
  bool Find(CUdeviceptr address, PooledBlock* block) const;
  // Finds the block of an address. If no live block contains it, finds the memory that a framework
  // has freed but still has mapped. Programs make tensors in memory of freed tensors, for example
  // for captured graphs. With the framework's own allocator the driver knows this memory, because
  // that allocator caches whole segments of the driver. Also finds blocks of other processes' pools
  // that this process opened by cuIpc.
  bool FindMapped(CUdeviceptr address, PooledBlock* block) const;
  // Answers cuPointerGetAttribute about `address` in the block, if the pool's answer differs from
  // the driver's. Returns false if the driver's answer is right.
  bool Attribute(const PooledBlock& block, CUdeviceptr address, CUpointer_attribute attribute,
                 void* data) const;
  // Changes the driver's numbers of free and total bytes to those that this process can use.
  void AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) const;

  // True if at least two GPUs cannot reach each other's memory.
  bool SomeCardsApart() const;
  // True if memory of a pool is copied between two GPUs that cannot access each other's memory. The
  // driver then needs the contexts of both. An address of 0 is memory of the current context that
  // has no address, for example an array.
  bool CopyNeedsContexts(CUdeviceptr to, CUdeviceptr from, CopyEnds* ends) const;

  // True if the address belongs to a pool whose device the call's device cannot access. The call's
  // device is that of `stream`; that of the current context for a default stream.
  bool IsOutOfReach(CUdeviceptr address, CUstream stream, OutOfReach* block) const;

  // Called before a network adapter or a multicast object gets the physical memory behind
  // addresses. From now on that memory is not moved. Returns false if a part of it is on the host,
  // because the adapter must not use it there. Returns true for memory outside the pools.
  bool HoldInPlace(CUdeviceptr address, uint64_t size) const;
  // Called when the driver has given the physical memory of the range to an adapter or a multicast
  // object. From then on the chunks remain at these addresses as long as the context exists, even
  // if the block is freed. So a later free need not be reported to the adapter.
  void KeepChunks(CUdeviceptr address, uint64_t size) const;

  // --- cuIpc for memory of pools: exports a block of this process, and opens and closes one of
  // another process. The events are recorded, except for Export.
  CUresult Export(CUdeviceptr address, CUipcMemHandle* handle) const;
  CUresult OpenHandle(const CallSite& site, CUdeviceptr* address, const CUipcMemHandle& handle,
                      unsigned int flags) const;
  bool CloseHandle(const CallSite& site, CUdeviceptr address, CUresult* result) const;

  // --- Notifications for the pools
  // Closes the pools of contexts that ended without a hooked call.
  void CloseEnded() const;
  void PrimaryRetained(CUcontext context, int device) const;
  // Called when the program has a context of the device.
  void DeviceUsed(int device) const;
  // Called after the driver has destroyed the context (first function), or the device's primary
  // context (second function).
  void ContextGone(CUcontext context) const;
  void PrimaryContextGone(int device) const;
  // Returns the device's primary context, or null if it is unknown.
  CUcontext PrimaryOf(int device) const;
  // Notes that the current context's device may access memory of the context `peer`.
  void PeerEnabled(CUcontext peer, int by_device) const;
  void StreamCreated(CUstream stream) const;
  // StreamDestroyed is called before the driver destroys the stream. If the driver fails to destroy
  // it, StreamDestroyFailed is called afterwards.
  void StreamDestroyed(CUstream stream) const;
  void StreamDestroyFailed(CUstream stream) const;
  // CaptureBegins is called before the driver begins the capture. CaptureEnded is called when the
  // capture has ended, or if the driver failed to begin it.
  void CaptureBegins(CUstream stream) const;
  void CaptureEnded(CUstream stream) const;
  // Notes that the process has memory that both the host and a device can access.
  void SharedMemoryMade() const;
  // Called before a module or a context ends, because the handles of its functions may be reused.
  void FunctionsGone() const;

  // --- Submitting work
  // While a Submission exists, its thread may submit work. Before the thread submits the work, it
  // reports the memory that the work names.
  class Submission {
   public:
    explicit Submission(const PoolService& service)
        : pass_(Prepared(service)),
          offloading_(service.links_.offloading),
          watched_(offloading_.Watch()) {}
    // True if the memory that the work uses has to be reported.
    bool watched() const { return watched_; }
    Offloading& offloading() const { return offloading_; }

   private:
    static Offloaders* Prepared(const PoolService& service) {
      service.links_.offloading.PrepareSubmission();
      return &service.links_.offloaders;
    }

    const Offloaders::GateTicket pass_;
    Offloading& offloading_;
    const bool watched_;
  };

 private:
  struct CopyEnd {
    CUcontext context = nullptr;
    int device = -1;
    bool pooled = false;
  };

  bool WantsPlainDriver(const CallSite& site) const;
  bool CanShare(const PooledBlock& block) const;
  bool FreeBlock(const CallSite& site, CUdeviceptr address, bool may_wait, CUresult* result) const;
  uint64_t Record(const CallSite& site, const Event& event) const;
  void RecordRefusedFree(const CallSite& site, CUdeviceptr address) const;
  void RecordOverLimit(const CallSite& site, const PooledRequest& request, int16_t device) const;
  bool FindEnd(CUdeviceptr address, CopyEnd* end) const;

  const Links links_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_SERVICE_H_
