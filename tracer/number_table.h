// NumberTable: from a hash to a small number.
//
// Idea: open addressing; entries are only ever added, and the number is stored before the hash, so
// that looking up takes no lock. Of a hash of 64 bits two different things have the same with a
// chance of one in ten million when there are a million of them.
//
// Ownership: lives in memory that is zero at first, of which only what is touched costs anything.
// Threads: Find by any number at once, Add by one at a time. Errors: see Add. No heap.
#ifndef VRAMSTOW_TRACER_NUMBER_TABLE_H_
#define VRAMSTOW_TRACER_NUMBER_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vramstow {

template <size_t kPlaces>
class NumberTable {
  static_assert((kPlaces & (kPlaces - 1)) == 0, "a power of two");

 public:
  static constexpr size_t kMaxNumbers = kPlaces / 4 * 3;

  // The number of a hash, which is not 0; 0 if it has none.
  uint32_t Find(uint64_t hash) const {
    for (size_t place = First(hash);; place = (place + 1) % kPlaces) {
      const uint64_t there = entries_[place].hash.load(std::memory_order_acquire);
      if (there == hash) return entries_[place].number.load(std::memory_order_relaxed);
      if (there == 0) return 0;
    }
  }

  // The hash must not be there yet. False: the table is full.
  bool Add(uint64_t hash, uint32_t number) {
    if (count_ == kMaxNumbers) return false;
    size_t place = First(hash);
    while (entries_[place].hash.load(std::memory_order_relaxed) != 0) place = (place + 1) % kPlaces;
    entries_[place].number.store(number, std::memory_order_relaxed);
    entries_[place].hash.store(hash, std::memory_order_release);
    ++count_;
    return true;
  }

 private:
  struct Entry {
    std::atomic<uint64_t> hash;
    std::atomic<uint32_t> number;
  };
  static size_t First(uint64_t hash) { return static_cast<size_t>(hash ^ hash >> 32) % kPlaces; }

  Entry entries_[kPlaces];
  size_t count_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_NUMBER_TABLE_H_
