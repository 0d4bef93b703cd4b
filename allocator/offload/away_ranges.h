// AwayRanges: the blocks that must be brought back before work may use them.
//
// Idea: every address that work names is looked up without a lock, in a sorted table that is only
// written while no such work can be on its way (the gate is closed), or to take ranges away.
//
// Ownership: room for as many ranges as there ever were, until Close. Threads: Contains from any
// thread; all else under the device's lock. Errors: Reserve. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_AWAY_RANGES_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_AWAY_RANGES_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"

namespace vramstow {

class AwayRanges {
 public:
  void Close() VRAMSTOW_REQUIRES(kDeviceLock);

  bool Contains(uint64_t address) const {
    const uint64_t count = count_.load(std::memory_order_acquire);
    return count != 0 && Find(address, count);
  }

  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

  // Makes room for this number of ranges. Returns false if there is no memory for it.
  bool Reserve(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Contains finds nothing, until the ranges that are added meanwhile, in order of address, are
  // published.
  void Clear() VRAMSTOW_REQUIRES(kDeviceLock);
  void Add(uint64_t address, uint64_t bytes) VRAMSTOW_REQUIRES(kDeviceLock);
  void Publish() VRAMSTOW_REQUIRES(kDeviceLock);
  // The range that begins at this address is found no more.
  void Remove(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  struct Range {
    std::atomic<uint64_t> begin;
    std::atomic<uint64_t> end;
  };

  // Readers may hold a table while a larger one takes its place: old ones stay until Close.
  static constexpr int kMaxTables = 40;

  bool Find(uint64_t address, uint64_t count) const;
  uint64_t PlaceOf(uint64_t address, uint64_t count) const;

  std::atomic<Range*> ranges_{nullptr};
  std::atomic<uint64_t> count_{0};
  uint64_t added_ = 0;
  Range* tables_[kMaxTables] = {};
  uint64_t room_[kMaxTables] = {};
  int table_count_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_AWAY_RANGES_H_
