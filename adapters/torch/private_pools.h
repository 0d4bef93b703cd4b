// Private pools: PyTorch's memory pools of one device (of graphs, and MemPool), as numbers of ours.
//
// Idea: PyTorch names a pool by a pair and says when allocations of a stream are to go into it. The
// pool below knows pools by small numbers, which are used again once a pool is let go and empty.
//
// Ownership: one for each device. Threads: any; a lock of its own. Errors: as PyTorch's allocator
// words them, by exception. Units: blocks.
#ifndef VRAMSTOW_ADAPTERS_TORCH_PRIVATE_POOLS_H_
#define VRAMSTOW_ADAPTERS_TORCH_PRIVATE_POOLS_H_

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "adapters/torch/torch_api.h"

namespace vramstow::torch_adapter {

class PrivatePools {
 public:
  using Filter = std::function<bool(cudaStream_t)>;
  // The common pool, and the mark of pools that PyTorch's own allocator serves (those with an
  // allocator of the application's).
  static constexpr uint64_t kCommon = 0;
  static constexpr uint64_t kNative = ~uint64_t{0};

  // Where an allocation on this stream goes.
  uint64_t Route(cudaStream_t stream) {
    return captures_.load(std::memory_order_acquire) == 0 ? kCommon : RouteSlow(stream);
  }

  // One more user; made now if it is new. True: the number is new and its memory is to be kept.
  bool Use(MempoolId_t id, bool native, uint64_t* number);
  void Begin(MempoolId_t id, Filter filter);
  void End(MempoolId_t id);
  // One user less. True: that was the last one; the memory of *number may go.
  bool Release(MempoolId_t id, uint64_t* number);

  // kCommon if it is not known.
  uint64_t NumberOf(MempoolId_t id);
  bool IsNative(MempoolId_t id) { return NumberOf(id) == kNative; }
  MempoolId_t IdOf(uint64_t number);
  int UseCount(MempoolId_t id);
  void SetUseOnOutOfMemory(MempoolId_t id, bool use);
  std::vector<uint64_t> UsedOnOutOfMemory();
  // Whether PyTorch's own allocator has any such pool.
  bool NativeOnOutOfMemory();
  std::vector<std::pair<MempoolId_t, uint64_t>> All();

  void BlockBorn(uint64_t number) { Count(number, 1); }
  void BlockGone(uint64_t number) { Count(number, -1); }

 private:
  struct Entry {
    uint64_t number = 0;
    int uses = 0;
    bool use_on_out_of_memory = false;
  };
  struct Capture {
    MempoolId_t id;
    uint64_t number;
    Filter filter;
  };
  uint64_t RouteSlow(cudaStream_t stream);
  void Count(uint64_t number, int64_t change);
  void ForgetEmpty();

  std::atomic<int> captures_{0};
  std::mutex mutex_;
  std::map<MempoolId_t, Entry> entries_;
  std::vector<Capture> underway_;
  std::vector<int64_t> blocks_{0};  // live, by number
  std::vector<uint64_t> unused_;    // numbers
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_PRIVATE_POOLS_H_
