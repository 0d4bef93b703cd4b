// InterferenceMap: when the pages of a job that repeats are in use, as its last round tells.
//
// Idea: a round of requests is cut into slots. Each page that blocks of the round lie on has a mask
// of the slots in which it is in use, and a chunk that of all pages where it is mapped. A chunk
// whose mask has no slot in common with a page's can serve that page in this round and in all that
// follow, without a step of the driver from the second time on. So a repeating job needs the driver
// until each page has such a chunk, and no longer: a colouring of the graph whose edges are pages
// that are in use at the same time.
//
// Ownership: its own memory, taken when it is first needed. Threads: the device's lock. Errors:
// none; what it does not know counts as unused. Units: bytes; requests, counted from now on.
#ifndef VRAMSTOW_ALLOCATOR_PLACEMENT_INTERFERENCE_MAP_H_
#define VRAMSTOW_ALLOCATOR_PLACEMENT_INTERFERENCE_MAP_H_

#include <cstdint>

#include "allocator/core/device_lock.h"

#include "allocator/physical/address_space.h"

namespace vramstow {

// A set of slots.
struct SlotMask {
  static constexpr uint64_t kSlots = 256;
  uint64_t words[kSlots / 64] = {};

  void Add(const SlotMask& other) {
    for (uint64_t i = 0; i < kSlots / 64; ++i) words[i] |= other.words[i];
  }
  // Slots in both.
  uint32_t Common(const SlotMask& other) const;
  // Requests [from, to) of a round of so many, which begins anew after its end.
  void AddRequests(uint64_t from, uint64_t to, uint64_t round);
};

class InterferenceMap {
 public:
  // Gives its memory back.
  void Close() VRAMSTOW_REQUIRES(kDeviceLock);

  // A new round. False: no memory.
  bool Begin(AddressSpace* space) VRAMSTOW_REQUIRES(kDeviceLock);
  // The page is in use during these slots. False: too many pages.
  bool Note(uint64_t address, const SlotMask& slots) VRAMSTOW_REQUIRES(kDeviceLock);
  SlotMask Of(const Page& page) const {
    return page.interference != 0 ? masks_[page.interference] : SlotMask();
  }
  // After it was asked.
  void End() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  static constexpr uint32_t kMaxPages = 1U << 17;

  AddressSpace* space_ = nullptr;
  uint32_t count_ = 0;
  SlotMask* masks_ = nullptr;  // from 1 on
  uint64_t* pages_ = nullptr;  // their addresses
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_INTERFERENCE_MAP_H_
