// InterferenceMap: when the pages of a repeating job are in use, learned from its last iteration.
//
// Idea: the requests of an iteration (a round) are divided into time slots. Each page that has
// blocks in the round has a mask of the slots in which it is in use; a chunk has the union of the
// masks of all pages where it is mapped. If a chunk's mask has no slot in common with a page's
// mask, the chunk can serve that page in every iteration, and a driver call is needed only the
// first time. So a repeating job calls the driver only until each page has such a chunk. This
// amounts to colouring a graph whose edges join pages that are in use at the same time.
//
// Ownership: the map owns its memory, which it allocates when it is first needed. Threads: the
// device's lock. Errors: none; an unknown page counts as unused. Units: bytes; requests, counted
// from the current one.
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
  // Returns the number of slots that are in both sets.
  uint32_t Common(const SlotMask& other) const;
  // Adds the slots of requests [from, to) of an iteration that has `round` requests. Requests after
  // the end of the iteration wrap around to the next one.
  void AddRequests(uint64_t from, uint64_t to, uint64_t round);
};

class InterferenceMap {
 public:
  // Releases the map's memory.
  void Close() VRAMSTOW_REQUIRES(kDeviceLock);

  // Starts the map of a new iteration. Returns false if there is no memory.
  bool Begin(AddressSpace* space) VRAMSTOW_REQUIRES(kDeviceLock);
  // Notes that the page is in use during these slots. Returns false if there are too many pages.
  bool Note(uint64_t address, const SlotMask& slots) VRAMSTOW_REQUIRES(kDeviceLock);
  SlotMask Of(const Page& page) const {
    return page.interference != 0 ? masks_[page.interference] : SlotMask();
  }
  // Clears the pages' masks once the map is no longer needed.
  void End() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  static constexpr uint32_t kMaxPages = 1U << 17;

  AddressSpace* space_ = nullptr;
  uint32_t count_ = 0;
  SlotMask* masks_ = nullptr;  // numbers begin at 1
  uint64_t* pages_ = nullptr;  // addresses of the pages
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PLACEMENT_INTERFERENCE_MAP_H_
