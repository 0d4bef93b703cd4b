// ReportedBlocks records the blocks of PyTorch's own allocator without its trace entries.
//
// Idea: PyTorch makes a trace entry of each event as soon as one tracker is attached, which costs
// more than recording the event. So no tracker is attached at first. The facts of an event come
// from two other places:
// 1. The allocator reports each block that it allocates or frees to the profiler, while it holds
//    the lock of the device. ImportSlot redirects this call to Listen, which thus learns the
//    address and the size of the block and the reserved memory, in the exact order of events.
// 2. The Forwarder, which stands before the allocator, makes a Request around each call: it says
//    how many bytes are requested on which stream.
//
// Two things are not reported: when a freed block that other streams used becomes free, and what a
// request asked for that PyTorch makes by itself (a checkpoint of a private pool, a block at a
// given address). A program for which they matter calls a function of the Forwarder first, and that
// function attaches a tracker. From then on PyTorch makes trace entries: frees and their
// completions are recorded from them, and allocations as before.
//
// Segments are counted by the totals of PyTorch's statistics. Reading them may need the heap, so
// they are read without the lock: at the end of a request for which a report said that the reserved
// memory has changed, and after functions that only release memory.
//
// Ownership: one object, never destroyed. Threads: Listen and OnEntry run under the lock of the
// device's allocator, so each device has one user at a time; all other functions may be called by
// any thread. Errors: a block that was requested past the Forwarder, while there is no tracker, is
// recorded as requested with its size on the default stream. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_REPORTED_BLOCKS_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_REPORTED_BLOCKS_H_

#include <array>
#include <atomic>

#include "adapters/torch/observer/address_table.h"
#include "adapters/torch/observer/out_of_memory_event.h"
#include "adapters/torch/torch_api.h"
#include "base/mutex.h"
#include "include/vramstow/framework.h"

namespace vramstow::torch_observer {

class ReportedBlocks {
 public:
  static constexpr int kMaxDevices = 64;

  ReportedBlocks(const vramstow_framework_trace* trace, torch_adapter::CUDAAllocator* allocator)
      : trace_(trace), allocator_(allocator) {}

  // Begins to record. Returns false, and records nothing, if the reports cannot be redirected, or
  // if the allocator has memory already. Called once.
  bool Begin();

  // A request that the calling thread passes to the allocator while this object exists. Requests
  // may be nested.
  class Request {
   public:
    // Requests memory for the stream that is then current on the device.
    Request(ReportedBlocks* blocks, size_t bytes) : Request(blocks, bytes, nullptr, true) {}
    Request(ReportedBlocks* blocks, size_t bytes, cudaStream_t stream)
        : Request(blocks, bytes, stream, false) {}
    ~Request() {
      *place_ = outer_;
      if (grown_device_ >= 0) [[unlikely]]
        blocks_->CountSegments(grown_device_);
    }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

   private:
    friend class ReportedBlocks;
    Request(ReportedBlocks* blocks, size_t bytes, cudaStream_t stream, bool is_current)
        : blocks_(blocks),
          place_(blocks->trace_->place()),
          outer_(*place_),
          bytes_(bytes),
          stream_(stream),
          is_current_(is_current) {
      *place_ = this;
    }

    ReportedBlocks* const blocks_;
    void** const place_;  // where the thread's innermost request is found
    void* const outer_;
    const size_t bytes_;
    const cudaStream_t stream_;
    const bool is_current_;
    c10::DeviceIndex grown_device_ = -1;  // the device whose reserved memory has changed
  };

  // Attaches a tracker, unless there is one.
  void Track();
  // Counts segments that were reserved or released, of one device or of all.
  void CountSegments(c10::DeviceIndex device);
  void CountAllSegments();
  // Called when PyTorch is about to set the totals of its statistics to 0, and when it has done so.
  void BeginReset(c10::DeviceIndex device);
  void EndReset(c10::DeviceIndex device);

 private:
  struct Block {
    uint64_t size;
    uint64_t requested;
    uint64_t stream;
  };
  // The last allocation of which the tracker got an entry; the allocator reports it next.
  struct LastEntry {
    uint64_t address = 0;
    uint64_t requested = 0;
    uint64_t stream = 0;
  };
  struct Device {
    AddressTable<Block> blocks;
    // What PyTorch had reserved when that was last counted, or when a Request last saw it.
    std::atomic<uint64_t> reserved{0};
    int tracker = 0;  // the one whose entries are used; 0 while no tracker was called
    LastEntry last_entry;
    Mutex counting;  // guards the two totals, which PyTorch has had and are counted
    uint64_t got VRAMSTOW_GUARDED_BY(counting) = 0;
    uint64_t returned VRAMSTOW_GUARDED_BY(counting) = 0;
    uint64_t recorded VRAMSTOW_GUARDED_BY(counting) = 0;  // what the trace has as reserved
    std::atomic<uint32_t> resets{0};  // how often PyTorch has set its totals to 0
  };

  static void Listen(void* data, int64_t bytes, size_t allocated, size_t reserved,
                     c10::Device where);
  bool HasMemory();
  void OnAllocated(c10::DeviceIndex index, uint64_t address, uint64_t size, uint64_t reserved);
  void OnFreed(c10::DeviceIndex index, uint64_t address);
  void OnEntry(const torch_adapter::TraceEntry& entry, int tracker);

  static std::atomic<ReportedBlocks*> listener_;

  const vramstow_framework_trace* const trace_;
  torch_adapter::CUDAAllocator* const allocator_;
  std::atomic<int> trackers_{0};
  std::atomic<bool> is_tracked_{false};
  std::array<Device, kMaxDevices> devices_;
};

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_REPORTED_BLOCKS_H_
