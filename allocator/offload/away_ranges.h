// AwayRanges: the address ranges of blocks that must be restored before work may use them.
//
// Idea: every address that submitted work names is looked up without a lock, in a sorted table.
// Ranges are added only while the SubmissionGate is closed, so that no work can be submitted
// meanwhile; they may be removed at any time.
//
// Ownership: tables for as many ranges as there ever were, until Close. Threads: Contains may be
// called from any thread, all else under the device's lock. Errors: Reserve returns false. Units:
// bytes.
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
  // Empties the table. Ranges added after that, in order of address, are found once they are
  // published.
  void Clear() VRAMSTOW_REQUIRES(kDeviceLock);
  void Add(uint64_t address, uint64_t bytes) VRAMSTOW_REQUIRES(kDeviceLock);
  void Publish() VRAMSTOW_REQUIRES(kDeviceLock);
  // Removes the range that begins at this address.
  void Remove(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  struct Range {
    std::atomic<uint64_t> begin;
    std::atomic<uint64_t> end;
  };

  // Readers may still use a table when a larger one replaces it, so old tables are freed in Close.
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
