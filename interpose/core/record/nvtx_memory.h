// NvtxMemory: tells memory checkers what lies inside the pool (--nvtx-memory), by NVTX's memory
// extension.
//
// Idea: to a checker a pool is one valid block, whatever the program does in it. So the tool that
// NVTX_INJECTION64_PATH names is announced: an arena or a segment is a heap of a sub-allocator, in
// which nothing may be touched, and a block is a region in it, as long as the program asked for and
// from when it gets it until it frees it. A heap is announced with its first region: what the pool
// reserves for itself stays unknown.
//
// Ownership: static storage; the tool is never closed. Threads: any. The tool is called under the
// locks of the pool that tells the event, as the driver is; it may call the driver, whose memory is
// then the driver's own. Errors: without a listener nothing is announced, which is said in one
// sentence. Units: bytes.
//
// Lock: mutex_, for the list of heaps. Under it the tool is announced of heaps.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/core/mutex.h"
#include "base/event.h"
#include "base/options.h"
#include "base/thread_annotations.h"
#include "interpose/core/record/nvtx_abi.h"

namespace vramstow {

class NvtxMemory {
 public:
  constexpr NvtxMemory() = default;
  NvtxMemory(const NvtxMemory&) = delete;
  NvtxMemory& operator=(const NvtxMemory&) = delete;

  // After cuInit, and before there is a pool: asks the tool for its functions, once.
  void Open(const Options& options);
  // Whether pools are to tell their events; false for good once nobody listens.
  bool wanted(const Options& options) const;
  // An event of a pool.
  void OnEvent(const Event& event);

  // In a forked child, whose only thread this is; async-signal-safe.
  void AbandonAfterFork() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  struct Heap {
    uint64_t address = 0;
    uint64_t size = 0;
    void* handle = nullptr;
    bool announced = false;
  };
  static constexpr size_t kMostHeaps = 8192;

  enum class State : uint8_t { kNew, kOpening, kListening, kDeaf };

  // Null: somebody listens. Else why not.
  const char* Ask(const char* tool);
  void AddHeap(uint64_t address, uint64_t size);
  void RemoveHeap(uint64_t address);
  bool HeapOf(uint64_t address, bool announce, void** handle);
  size_t PlaceOf(uint64_t address) const VRAMSTOW_REQUIRES(mutex_);
  void EmitRegion(const Event& event, void* heap) const;
  void EmitRegionGone(const Event& event) const;

  std::atomic<State> state_{State::kNew};
  void* domain_ = nullptr;
  intptr_t functions_[nvtx::kMemoryFunctions] = {};
  Mutex mutex_;
  size_t count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  bool full_ VRAMSTOW_GUARDED_BY(mutex_) = false;
  Heap heaps_[kMostHeaps] VRAMSTOW_GUARDED_BY(mutex_) = {};  // in the order of their addresses
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_MEMORY_H_
