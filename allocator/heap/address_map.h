// AddressMap: finds the span of a block from the block's address.
//
// Idea: a hash table with open addressing and linear probing; a slot has 8 bytes, and at least a
// third of the slots are empty. Deleting moves later members back, so there are no tombstones and
// look-ups stay short however many blocks were inserted and deleted (D. Knuth, TAOCP 3, 6.4,
// algorithm R).
//
// Ownership: the map owns its table. Threads: guarded by the heap's lock. Errors: returns false if
// there is no memory for a larger table. Only EnsureRoom makes system calls. Units: addresses are
// multiples of kBlockBytes.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_ADDRESS_MAP_H_
#define VRAMSTOW_ALLOCATOR_HEAP_ADDRESS_MAP_H_

#include <cstdint>

#include "allocator/core/host_memory.h"
#include "allocator/heap/span.h"

namespace vramstow {

class AddressMap {
 public:
  // Two addresses whose distance is a multiple of this have the same key.
  static constexpr uint64_t kKeyReach = kBlockBytes << 32;

  // Makes sure that the next `count` calls of Insert cannot fail.
  bool EnsureRoom(uint32_t count) { return HasRoom(count) || Grow(count); }
  bool HasRoom(uint32_t count) const { return count_ + count <= limit_; }
  void Close();

  void Insert(uint64_t address, uint32_t index) {
    const uint32_t key = KeyOf(address);
    uint32_t place = Home(key);
    while (places_[place].index != 0) place = (place + 1) & mask_;
    places_[place] = {key, index};
    ++count_;
  }

  // Returns the span that was inserted for the address, or 0.
  uint32_t Find(uint64_t address, const SpanSlab& slab) const {
    if (places_ == nullptr) return 0;
    const uint32_t key = KeyOf(address);
    for (uint32_t place = Home(key); places_[place].index != 0; place = (place + 1) & mask_) {
      if (places_[place].key == key && slab[places_[place].index].address == address) {
        return places_[place].index;
      }
    }
    return 0;
  }

  void Remove(uint64_t address, uint32_t index);
  // Prefetches the slot of an address that will soon be inserted or looked up. The function is
  // always inlined, because g++ removes calls of a function that only prefetches: it seems to have
  // no effect.
  [[gnu::always_inline]] void Prefetch(uint64_t address) const {
    __builtin_prefetch(&places_[Home(KeyOf(address))], 1);
  }

  // Finds the span of an address without reading the span. The caller knows that the address is in
  // the map, and that no two addresses of the map are kKeyReach or more apart.
  uint32_t Find(uint64_t address) const {
    const uint32_t key = KeyOf(address);
    uint32_t place = Home(key);
    while (places_[place].key != key || places_[place].index == 0) place = (place + 1) & mask_;
    return places_[place].index;
  }

  uint32_t count() const { return count_; }
  uint64_t bytes() const { return places_ == nullptr ? 0 : (uint64_t{mask_} + 1) * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t key;    // the address's low 32 bits above the block granule
    uint32_t index;  // 0 if the slot is empty
  };

  static uint32_t KeyOf(uint64_t address) { return static_cast<uint32_t>(address / kBlockBytes); }
  // Blocks of the same 4 KiB have their home slots in one cache line, because blocks at
  // neighbouring addresses are often freed one after the other.
  uint32_t Home(uint32_t key) const {
    return (key / kLine * 0x9E3779B1U >> shift_) * kLine + key % kLine;
  }
  bool Grow(uint32_t count);

  static constexpr uint32_t kLine = 8;  // slots in a cache line

  Slot* places_ = nullptr;
  uint32_t mask_ = 0;
  uint32_t shift_ = 0;
  uint32_t count_ = 0;
  uint32_t limit_ = 0;  // members at which the table grows
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_ADDRESS_MAP_H_
