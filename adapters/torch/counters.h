// Counters stores the counts that PyTorch reports for one device: current, peak and total, for
// small and large blocks.
//
// Idea: PyTorch updates five quantities in three counters each. This class updates each quantity
// once, for its size class (small or large). It computes sums and "active" numbers when a caller
// asks. Only the peaks of the sums are updated all the time.
//
// Ownership: values. Threads: any; one spin lock guards all quantities. Errors: none. Units: bytes,
// blocks.
#ifndef VRAMSTOW_ADAPTERS_TORCH_COUNTERS_H_
#define VRAMSTOW_ADAPTERS_TORCH_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "adapters/torch/torch_api.h"
#include "base/mutex.h"

namespace vramstow::torch_adapter {

// One counted quantity: a number for each size class, and their sum.
class Quantity {
 public:
  void Add(bool small, int64_t amount) {
    AddTo(&parts_[small ? 0 : 1], amount);
    if (current() > peak_) peak_ = current();
  }
  void Remove(bool small, int64_t amount) { parts_[small ? 0 : 1].current -= amount; }
  // Changes the two parts to these values and updates the peaks. If an amount moves from one part
  // to the other, it is never counted in both.
  void Set(int64_t small, int64_t large) {
    const int64_t values[] = {small, large};
    for (int i = 0; i < 2; ++i) {
      const int64_t change = values[i] - parts_[i].current;
      change >= 0 ? AddTo(&parts_[i], change) : Remove(i == 0, -change);
    }
    if (current() > peak_) peak_ = current();
  }
  int64_t current() const { return parts_[0].current + parts_[1].current; }
  void ResetPeak() {
    for (Part& part : parts_) part.peak = part.current;
    peak_ = current();
  }
  void ResetAccumulated() {
    for (Part& part : parts_) {
      part.added = 0;
      part.base = part.current;
    }
  }
  // Fills PyTorch's array: the sum, small blocks, large blocks.
  template <typename StatArray>
  void Put(StatArray* stats) const {
    auto& all = (*stats)[0];
    all = {};
    for (int i = 0; i < 2; ++i) {
      const Part& part = parts_[i];
      auto& stat = (*stats)[i + 1];
      stat.current = part.current;
      stat.peak = part.peak;
      stat.allocated = part.added;
      stat.freed = part.base + part.added - part.current;
      all.current += stat.current;
      all.allocated += stat.allocated;
      all.freed += stat.freed;
    }
    all.peak = peak_;
  }

 private:
  struct Part {
    int64_t current = 0;
    int64_t peak = 0;
    int64_t added = 0;
    int64_t base = 0;  // the current value when `added` was reset
  };
  static void AddTo(Part* part, int64_t amount) {
    part->current += amount;
    part->added += amount;
    if (part->current > part->peak) part->peak = part->current;
  }
  Part parts_[2];
  int64_t peak_ = 0;
};

class Counters {
 public:
  // The pool's limit for small blocks (PoolConfig::small_bytes): a block up to this size never
  // shares a chunk with a larger block. PyTorch's own limit is 1 MiB.
  static constexpr uint64_t kSmallBytes = uint64_t{128} << 10;
  static bool IsSmall(uint64_t size) { return size <= kSmallBytes; }

  void Allocated(uint64_t size, uint64_t requested) {
    const bool small = IsSmall(size);
    const MutexLock lock(&lock_);
    count_.Add(small, 1);
    bytes_.Add(small, static_cast<int64_t>(size));
    requested_.Add(small, static_cast<int64_t>(requested));
    if (!follows_active_) return;
    active_.Add(small, 1);
    active_bytes_.Add(small, static_cast<int64_t>(size));
  }
  // `pending` is true if other streams may still use the block. Completed() is called for such a
  // block, before or after this call.
  void Freed(uint64_t size, uint64_t requested, bool pending) {
    const bool small = IsSmall(size);
    const MutexLock lock(&lock_);
    count_.Remove(small, 1);
    bytes_.Remove(small, static_cast<int64_t>(size));
    if (pending) return;
    requested_.Remove(small, static_cast<int64_t>(requested));
    if (!follows_active_) return;
    active_.Remove(small, 1);
    active_bytes_.Remove(small, static_cast<int64_t>(size));
  }
  void Completed(uint64_t size, uint64_t requested) {
    const bool small = IsSmall(size);
    const MutexLock lock(&lock_);
    requested_.Remove(small, static_cast<int64_t>(requested));
    if (!follows_active_) return;
    active_.Remove(small, 1);
    active_bytes_.Remove(small, static_cast<int64_t>(size));
  }
  // Call this before the first RecordUse: from then on a freed block may still be active.
  void FollowActive() {
    if (follows_active_) return;
    const MutexLock lock(&lock_);
    if (follows_active_) return;
    active_ = count_;
    active_bytes_ = bytes_;
    follows_active_ = true;
  }
  void Reserved(uint64_t small, uint64_t large) {
    const MutexLock lock(&lock_);
    reserved_.Set(static_cast<int64_t>(small), static_cast<int64_t>(large));
  }
  void Put(DeviceStats* stats) {
    const MutexLock lock(&lock_);
    count_.Put(&stats->allocation);
    bytes_.Put(&stats->allocated_bytes);
    requested_.Put(&stats->requested_bytes);
    (follows_active_ ? active_ : count_).Put(&stats->active);
    (follows_active_ ? active_bytes_ : bytes_).Put(&stats->active_bytes);
    reserved_.Put(&stats->reserved_bytes);
  }
  void ResetPeaks() {
    const MutexLock lock(&lock_);
    for (Quantity* quantity : All()) quantity->ResetPeak();
  }
  void ResetAccumulated() {
    const MutexLock lock(&lock_);
    for (Quantity* quantity : All()) quantity->ResetAccumulated();
  }
  // Reads without the lock, because the profiler's memory curve need not be exact.
  int64_t allocated_bytes() const VRAMSTOW_NO_LOCK_ANALYSIS { return bytes_.current(); }
  int64_t reserved_bytes() const VRAMSTOW_NO_LOCK_ANALYSIS { return reserved_.current(); }

 private:
  std::array<Quantity*, 6> All() VRAMSTOW_REQUIRES(lock_) {
    return {&count_, &bytes_, &requested_, &active_, &active_bytes_, &reserved_};
  }

  SpinLock lock_;
  std::atomic<bool> follows_active_{false};
  Quantity count_ VRAMSTOW_GUARDED_BY(lock_);
  Quantity bytes_ VRAMSTOW_GUARDED_BY(lock_);
  Quantity requested_ VRAMSTOW_GUARDED_BY(lock_);
  Quantity active_ VRAMSTOW_GUARDED_BY(lock_);
  Quantity active_bytes_ VRAMSTOW_GUARDED_BY(lock_);
  Quantity reserved_ VRAMSTOW_GUARDED_BY(lock_);
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_COUNTERS_H_
