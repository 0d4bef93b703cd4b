// NvtxMemory reports to memory checkers which blocks lie inside the pool (--nvtx-memory), by NVTX's
// memory extension.
//
// Idea: without such reports a checker takes the whole pool for one valid block, whatever the
// program does in it. So vramstow registers the pool's memory with the tool that
// NVTX_INJECTION64_PATH names. An arena or a segment is registered as the heap of a sub-allocator;
// the program must not access the heap itself. A block is registered as a region of its heap. The
// region has the size that the program asked for, and exists from the allocation to the free. A
// heap is registered together with its first region, so the tool is never informed of memory that
// the pool reserves for itself.
//
// Ownership: static storage; the tool is never closed. Threads: any. vramstow calls the tool, like
// the driver, under the locks of the pool that emits the event. The tool may call the driver, which
// serves its allocations without the pool. Errors: if no tool listens, nothing is registered, and
// one line on stderr reports it. Units: bytes.
//
// Lock: mutex_ guards the list of heaps. The tool's functions for heaps are called while it is
// held.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "base/mutex.h"
#include "base/options.h"
#include "base/thread_annotations.h"
#include "interpose/core/record/nvtx_abi.h"

namespace vramstow {

class NvtxMemory {
 public:
  constexpr NvtxMemory() = default;
  NvtxMemory(const NvtxMemory&) = delete;
  NvtxMemory& operator=(const NvtxMemory&) = delete;

  // Asks the tool for its functions, once. Called after cuInit, before the first pool exists.
  void Open(const Options& options);
  // True if pools have to pass their events to OnEvent. It is false for good once it is clear that
  // no tool listens.
  bool wanted(const Options& options) const;
  // Handles an event of a pool.
  void OnEvent(const Event& event);

  // Forgets the tool and the heaps. Called by the only thread of a forked child; async-signal-safe.
  void AbandonAfterFork() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  struct Heap {
    uint64_t address = 0;
    uint64_t size = 0;
    void* handle = nullptr;
    bool announced = false;
  };
  static constexpr size_t kMaxHeaps = 8192;

  enum class State : uint8_t { kNew, kOpening, kListening, kDeaf };

  // Gets the tool's functions. Returns null if the tool listens, otherwise the reason why it does
  // not.
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
  FastMutex mutex_;
  size_t count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  bool full_ VRAMSTOW_GUARDED_BY(mutex_) = false;
  Heap heaps_[kMaxHeaps] VRAMSTOW_GUARDED_BY(mutex_) = {};  // sorted by address
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_NVTX_MEMORY_H_
