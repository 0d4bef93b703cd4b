// LiveBits: one bit for each position where a block could begin; it is set if a live block begins
// there.
//
// Idea: a free must know at once whether its address may be freed. In a heap with very many blocks
// the records that say so are in no CPU cache, but the bits are: a million blocks of 1 KiB need 256
// KiB of bits. The rest of the free can then be deferred (Heap::DeferFree).
//
// Ownership: the bits own their memory until Close. Threads: guarded by the heap's lock. Errors:
// returns false if there is no memory, or if there are too many ranges; addresses outside of all
// ranges are never set. Only Cover makes system calls. Units: bytes; blocks begin at multiples of
// kBlockBytes.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_LIVE_BITS_H_
#define VRAMSTOW_ALLOCATOR_HEAP_LIVE_BITS_H_

#include <cstdint>

#include "allocator/core/host_memory.h"
#include "allocator/heap/span.h"

namespace vramstow {

class LiveBits {
 public:
  // Adds a range of addresses that can have bits; `address` and `size` are multiples of kWordReach.
  bool Cover(uint64_t address, uint64_t size) {
    if (count_ == kMaxRanges) return false;
    void* words = AllocateHostMemory(size / kWordReach * sizeof(uint64_t));
    if (words == nullptr) return false;
    ranges_[count_++] = {address, size, static_cast<uint64_t*>(words)};
    return true;
  }
  void Close() {
    for (uint32_t i = 0; i < count_; ++i) {
      FreeHostMemory(ranges_[i].words, ranges_[i].size / kWordReach * sizeof(uint64_t));
    }
    count_ = 0;
  }

  void Set(uint64_t address) {
    const BitPosition place = Find(address);
    if (place.word != nullptr) *place.word |= place.bit;
  }
  bool Covers(uint64_t address) const { return Find(address).word != nullptr; }
  bool Test(uint64_t address) const {
    const BitPosition place = Find(address);
    return place.word != nullptr && (*place.word & place.bit) != 0;
  }
  // Clears the bit of an address. Returns true if the bit was set, and false if it was not or if no
  // block could begin at the address.
  bool Clear(uint64_t address) {
    const BitPosition place = Find(address);
    if (place.word == nullptr || (*place.word & place.bit) == 0) return false;
    *place.word &= ~place.bit;
    return true;
  }

 private:
  // The regions of a heap double in size, so a heap rarely has more than this many.
  static constexpr uint32_t kMaxRanges = 8;
  static constexpr uint64_t kWordReach = 64 * kBlockBytes;

  struct Range {
    uint64_t address;
    uint64_t size;
    uint64_t* words;
  };
  struct BitPosition {
    uint64_t* word;
    uint64_t bit;
  };

  BitPosition Find(uint64_t address) const {
    for (uint32_t i = 0; i < count_; ++i) {
      const Range& range = ranges_[i];
      const uint64_t offset = address - range.address;
      if (offset >= range.size) continue;
      if (offset % kBlockBytes != 0) break;
      return {range.words + offset / kWordReach, uint64_t{1} << (offset / kBlockBytes % 64)};
    }
    return {nullptr, 0};
  }

  uint32_t count_ = 0;
  Range ranges_[kMaxRanges] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_LIVE_BITS_H_
