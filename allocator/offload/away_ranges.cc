#include "allocator/offload/away_ranges.h"

#include <algorithm>
#include <new>

#include "allocator/core/host_memory.h"

namespace vramstow {
namespace {

constexpr uint64_t kFirstRoom = 1024;

}  // namespace

void AwayRanges::Close() {
  Clear();
  ranges_.store(nullptr, std::memory_order_release);
  for (int i = 0; i < table_count_; ++i) FreeHostMemory(tables_[i], room_[i] * sizeof(Range));
  table_count_ = 0;
}

// Returns the index of the last range that begins at or before the address, or 0 if there is none.
uint64_t AwayRanges::PlaceOf(uint64_t address, uint64_t count) const {
  const Range* const ranges = ranges_.load(std::memory_order_acquire);
  uint64_t first = 0;
  while (count > 1) {
    const uint64_t half = count / 2;
    const bool after = ranges[first + half].begin.load(std::memory_order_relaxed) <= address;
    first += after ? half : 0;
    count -= half;
  }
  return first;
}

bool AwayRanges::Find(uint64_t address, uint64_t count) const {
  const Range* const ranges = ranges_.load(std::memory_order_acquire);
  const Range& range = ranges[PlaceOf(address, count)];
  return range.begin.load(std::memory_order_relaxed) <= address &&
         address < range.end.load(std::memory_order_acquire);
}

void AwayRanges::Remove(uint64_t address) {
  const uint64_t count = count_.load(std::memory_order_relaxed);
  if (count == 0) return;
  Range& range = ranges_.load(std::memory_order_relaxed)[PlaceOf(address, count)];
  if (range.begin.load(std::memory_order_relaxed) != address) return;
  range.end.store(address, std::memory_order_release);
}

bool AwayRanges::Reserve(uint64_t count) {
  const uint64_t room = table_count_ == 0 ? 0 : room_[table_count_ - 1];
  if (count <= room) return true;
  if (table_count_ == kMaxTables) return false;
  const uint64_t larger = std::max({kFirstRoom, room * 2, count});
  auto* const table = static_cast<Range*>(AllocateHostMemory(larger * sizeof(Range)));
  if (table == nullptr) return false;
  for (uint64_t i = 0; i < larger; ++i) new (&table[i]) Range{};
  tables_[table_count_] = table;
  room_[table_count_++] = larger;
  Clear();
  ranges_.store(table, std::memory_order_release);
  return true;
}

void AwayRanges::Clear() {
  count_.store(0, std::memory_order_release);
  added_ = 0;
}

void AwayRanges::Add(uint64_t address, uint64_t bytes) {
  Range& range = ranges_.load(std::memory_order_relaxed)[added_++];
  range.begin.store(address, std::memory_order_relaxed);
  range.end.store(address + bytes, std::memory_order_relaxed);
}

void AwayRanges::Publish() { count_.store(added_, std::memory_order_release); }

}  // namespace vramstow
