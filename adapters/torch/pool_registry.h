// PoolRegistry assigns numbers to the private pools of one device (those of graphs and of MemPool).
//
// Idea: PyTorch names a private pool by a pair of numbers, and determines which streams allocate
// from it and when. vramstow's pool names private pools by small numbers. A number is reused when
// its private pool was released and has no block.
//
// Ownership: one for each device. Threads: any. Errors: exceptions in the words of PyTorch's
// allocator. Units: blocks.
#ifndef VRAMSTOW_ADAPTERS_TORCH_POOL_REGISTRY_H_
#define VRAMSTOW_ADAPTERS_TORCH_POOL_REGISTRY_H_

#include <atomic>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "adapters/torch/torch_api.h"
#include "base/mutex.h"

namespace vramstow::torch_adapter {

class PoolRegistry {
 public:
  using Filter = std::function<bool(cudaStream_t)>;
  // Two special numbers: that of the common pool, and the number of private pools that PyTorch's
  // own allocator serves. It serves the private pools that use an allocator of the application.
  static constexpr uint64_t kCommon = 0;
  static constexpr uint64_t kNative = ~uint64_t{0};

  // Returns the number of the pool that serves an allocation on this stream.
  uint64_t Route(cudaStream_t stream) {
    return captures_.load(std::memory_order_acquire) == 0 ? kCommon : RouteSlow(stream);
  }

  // Adds a user, and makes the pool if it is new. Returns true if this is its only user, so that
  // its memory must be retained from now on.
  bool Use(MempoolId_t id, bool native, uint64_t* number);
  void Begin(MempoolId_t id, Filter filter);
  void End(MempoolId_t id);
  // Removes a user. Returns true if it was the last one, so that the memory of *number may be
  // released.
  bool Release(MempoolId_t id, uint64_t* number);

  // Hands the pool over to PyTorch's own allocator. Returns the pool's number of users, which only
  // this class has counted so far. Returns 0 and changes nothing if the pool is unknown, has
  // blocks, or was handed over already.
  int HandToNative(MempoolId_t id, uint64_t* number);

  // Returns kCommon for an unknown pool.
  uint64_t NumberOf(MempoolId_t id);
  bool IsNative(MempoolId_t id) { return NumberOf(id) == kNative; }
  MempoolId_t IdOf(uint64_t number);
  int UseCount(MempoolId_t id);
  void SetUseOnOutOfMemory(MempoolId_t id, bool use);
  std::vector<uint64_t> UsedOnOutOfMemory();
  // True if one of the pools that may be used when memory is short is served by PyTorch's own
  // allocator.
  bool NativeOnOutOfMemory();
  std::vector<std::pair<MempoolId_t, uint64_t>> All();

  void AddBlock(uint64_t number) { Count(number, 1); }
  void RemoveBlock(uint64_t number) { Count(number, -1); }

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
  uint64_t NewNumber() VRAMSTOW_REQUIRES(mutex_);
  void ForgetEmpty() VRAMSTOW_REQUIRES(mutex_);

  std::atomic<int> captures_{0};
  // Only the filter of a capture is called while this lock is held.
  Mutex mutex_;
  std::map<MempoolId_t, Entry> entries_ VRAMSTOW_GUARDED_BY(mutex_);
  std::vector<Capture> underway_ VRAMSTOW_GUARDED_BY(mutex_);
  std::vector<int64_t> blocks_ VRAMSTOW_GUARDED_BY(mutex_){0};  // live, by number
  std::vector<uint64_t> unused_ VRAMSTOW_GUARDED_BY(mutex_);    // numbers
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_POOL_REGISTRY_H_
