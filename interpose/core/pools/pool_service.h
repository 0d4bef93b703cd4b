// PoolService: the one way by which the handlers of the driver's functions ask the pools, and tell
// them what they have to know.
//
// Idea: a handler knows what its call means; which pool serves, what is recorded and what the user
// wants of the pool is decided here. Where a function says that the pool did not serve the call,
// the driver is to be asked as if there were no pool.
//
// Ownership: static storage. Threads: any. Errors: the driver's numbers. errno is kept. Units:
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

struct PitchedRequest {
  uint64_t width;  // bytes
  uint64_t height;
  unsigned int element_size;
};

// *size 0: in no live block.
struct PooledBlock {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // as asked for
  uint64_t id = 0;
  CUcontext context = nullptr;
  int16_t device = 0;
  bool can_share = false;  // by cuIpc, but for large chunks
  // Of the pieces of physical memory under it, which begin at multiples of it; 0: there is one.
  uint64_t chunk_bytes = 0;
};

// The contexts of the two ends of a copy.
struct CopyEnds {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
};

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

  // True: the address is the pool's, *result is the answer, and the events are recorded. The first
  // waits for submitted work where a program could tell, the second never.
  bool Free(const CallSite& site, CUdeviceptr address, CUresult* result) const;
  bool FreeAsync(const CallSite& site, CUdeviceptr address, CUresult* result) const;

  // --- Questions
  // Whether an address is the pool's, in a block or not.
  bool Owns(CUdeviceptr address) const;
  // The address is the pool's.
  bool Find(CUdeviceptr address, PooledBlock* block) const;
  // The same; in no live block it is what a framework keeps mapped there. The framework's own
  // allocator would get whole segments from the driver, which knows them while they are cached:
  // tensors are made on memory whose first tensor is gone, as captured graphs have it.
  bool FindMapped(CUdeviceptr address, PooledBlock* block) const;
  // The answer to cuPointerGetAttribute about `address` in the block, for what the pool knows
  // better than the driver; false: as the driver says.
  bool Attribute(const PooledBlock& block, CUdeviceptr address, CUpointer_attribute attribute,
                 void* data) const;
  // What is free for the process, made of what the driver said.
  void AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) const;

  // Whether some cards cannot reach one another.
  bool SomeCardsApart() const;
  // Whether memory of a pool is copied between two cards that cannot reach one another: then the
  // driver needs to be told both contexts. An address of 0 is memory of the current context that
  // has none, as arrays have.
  bool CopyNeedsContexts(CUdeviceptr to, CUdeviceptr from, CopyEnds* ends) const;

  // Before somebody is told the physical memory behind addresses, as network cards and multicast
  // objects are: it stays where it is from now on. False: part of it is on the host, where they
  // must not find it. True also of memory that is no pool's.
  bool HoldInPlace(CUdeviceptr address, uint64_t size) const;
  // Afterwards, where the driver has told it: the chunks stay at these addresses for as long as the
  // context lives, also when the block is freed. Nobody has to be told of a free, then.
  void KeepChunks(CUdeviceptr address, uint64_t size) const;

  // --- cuIpc for memory of pools: of this process, of another, and back. The events are recorded,
  // but for that of the first.
  CUresult Export(CUdeviceptr address, CUipcMemHandle* handle) const;
  CUresult OpenHandle(const CallSite& site, CUdeviceptr* address,
                      const CUipcMemHandle& handle) const;
  bool CloseHandle(const CallSite& site, CUdeviceptr address, CUresult* result) const;

  // --- What the pools have to know
  // Closes the pools whose contexts ended unseen.
  void CloseEnded() const;
  void PrimaryRetained(CUcontext context, int device) const;
  // The context, or the device's primary one, is gone: after the driver has said so.
  void ContextGone(CUcontext context) const;
  void PrimaryContextGone(int device) const;
  // The current context's device may reach memory of the context `peer`.
  void PeerEnabled(CUcontext peer, int by_device) const;
  void StreamCreated(CUstream stream) const;
  // Before the driver is asked to; afterwards StreamDestroyFailed if it did not.
  void StreamDestroyed(CUstream stream) const;
  void StreamDestroyFailed(CUstream stream) const;
  // Before the driver is asked to begin; afterwards CaptureEnded if it did not.
  void CaptureBegins(CUstream stream) const;
  void CaptureEnded(CUstream stream) const;
  // The process has memory that host and device both reach.
  void SharedMemoryMade() const;
  // Before a module or a context goes: its functions' handles may become others'.
  void FunctionsGone() const;

  // --- Submitting work
  // While it lives, this thread may submit work. What the work names is told in between.
  class Submission {
   public:
    explicit Submission(const PoolService& service)
        : pass_(Prepared(service)),
          offloading_(service.links_.offloading),
          watched_(offloading_.Watch()) {}
    // Whether somebody wants to know what it touches.
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
  bool FreeBlock(const CallSite& site, CUdeviceptr address, bool wait, CUresult* result) const;
  uint64_t Record(const CallSite& site, const Event& event) const;
  void RecordRefusedFree(const CallSite& site, CUdeviceptr address) const;
  void RecordOverLimit(const CallSite& site, const PooledRequest& request, int16_t device) const;
  bool FindEnd(CUdeviceptr address, CopyEnd* end) const;

  const Links links_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_SERVICE_H_
