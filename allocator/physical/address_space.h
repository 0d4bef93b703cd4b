// AddressSpace: the large reserved address ranges (arenas) of one pool, and tables of what lies at
// each address.
//
// Idea: addresses cost nothing, so a range many times as large as the device's memory is reserved
// once and cut into regions, which the heaps own for good. Two flat tables give the heap of an
// address (without a lock) and the chunk that backs a page (under the device's lock). When a chunk
// has moved away from a page, its mapping there (its shadow) remains until the page is needed for
// another chunk; until then the chunk can return without a driver call.
//
// Memory of the plain driver (segments) lies at addresses that the driver chose. The same tables
// describe it: they cover whole windows of addresses, of which only the segments belong to the
// pool.
//
// Ownership: the ranges, until Close. Threads: HeapOf and Owns may be called from any thread, all
// else under the device's lock. Errors: DriverResult. Units: bytes; a page is as large as a chunk.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_ADDRESS_SPACE_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_ADDRESS_SPACE_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"

#include "allocator/core/driver.h"
#include "allocator/core/events.h"

namespace vramstow {

struct Page {
  uint32_t chunk;         // the chunk in use here; 0 if there is none
  uint32_t mapped;        // the chunk mapped here: the same one or a shadow; 0 if none
  uint32_t next;          // the next page where `mapped` is mapped; 0 if there is none
  uint32_t tick;          // for a shadow: work may use this mapping until this tick…
  uint32_t mark;          // used by plans: the plan in which this page was marked
  uint32_t interference;  // used by InterferenceMap: number of the mask; 0 if none
  uint16_t timeline;      // …of this timeline
  bool fresh : 1;         // mapped just now, and not yet accessible
  // How many users outside of the pool (network cards) have registered the memory of the chunk in
  // use here. The chunk does not leave the page while this is not 0. The value kForGood is
  // permanent.
  uint16_t registrations : 15;

  static constexpr uint16_t kForGood = (1 << 15) - 1;
  bool registered() const { return registrations != 0; }
};
static_assert(sizeof(Page) == 28,
              "there is one for each page of sixteen times the device's memory");

class AddressSpace {
 public:
  static constexpr uint16_t kNoHeap = 0;

  // Sets the sizes: each arena gets `wanted` bytes, or fewer, but at least `least`, if the driver
  // has no such range.
  void Open(const DriverTable* driver, const PoolEvents* events, uint64_t page_bytes,
            uint64_t wanted, uint64_t least);
  // Releases the ranges. `alive` is false if the context was destroyed, and the ranges with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Allocates a region of at least `size` bytes for the heap; it is page aligned and rounded up to
  // a step.
  DriverResult ReserveRegion(uint64_t size, uint16_t heap, uint64_t* address, uint64_t* region_size)
      VRAMSTOW_REQUIRES(kDeviceLock);

  // Assigns memory of the plain driver at these pages to the heap, until DropSegment. Returns
  // kDriverOutOfMemory if the tables cannot cover the address.
  DriverResult AddSegmentSpace(uint64_t address, uint64_t size, uint16_t heap)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void DropSegment(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock) {
    Mark(address, size, kNoHeap);
  }

  // Returns the heap whose region contains the address, or kNoHeap.
  uint16_t HeapOf(uint64_t address) const {
    const Arena* arena = arenas_;
    for (int left = count_.load(std::memory_order_acquire); left > 0; --left, ++arena) {
      if (address - arena->address < arena->size) {
        return arena->heaps[(address - arena->address) >> arena->step_shift].load(
            std::memory_order_acquire);
      }
    }
    return kNoHeap;
  }
  // True if the address lies in one of the pool's ranges, whether it is in use or not.
  bool Owns(uint64_t address) const;

  // Returns the page of an address, which must lie in a region.
  Page& PageAt(uint64_t address);
  // Convert between a page's address and its number; numbers begin at 1.
  uint32_t NumberOf(uint64_t address) const;
  uint64_t AddressOf(uint32_t number) const;
  Page& operator[](uint32_t number);

  // --- Touches -----------------------------------------------------------------------------------
  // The offloader records when pages are touched. The time is a number that grows; 0 means never.
  // Two values last until Renew: kPinned (a captured graph may use the page) and kHeld (a user
  // outside of the pool has the page's memory), which overrides kPinned. Any thread may record
  // touches.
  static constexpr uint32_t kHeld = ~uint32_t{0};
  static constexpr uint32_t kPinned = kHeld - 1;
  struct Touches {
    uint32_t last;
    // The intervals between the last four touches that were more than a moment apart: 16 bits each,
    // the latest in the lowest bits.
    uint64_t gaps;
    uint32_t exposed;  // when Expose was last called; 0 means never
    uint32_t born;     // when Renew was last called; 0 means never
    uint32_t uses;     // touches at different times since CountUsesAnew, at most 255
  };
  // Records a touch. Returns true if it changed the record: the page belongs to the pool, is
  // neither pinned nor held, and was not touched at this time already.
  bool Touch(uint64_t address, uint32_t when);
  // Records that a block was allocated on the page at this time, which counts as a touch.
  void Renew(uint64_t address, uint32_t when);
  // Records that from this time on work may use the page although no call names its address.
  void Expose(uint64_t address, uint32_t when);
  // Counts the uses of all pages from 0 again.
  void CountUsesAnew() { count_of_uses_.fetch_add(1, std::memory_order_relaxed); }
  // Returns the touches of a page, which must be the pool's.
  Touches TouchesAt(uint64_t address) const;

  // True if no arena and no window can be added.
  bool full() const { return count_.load(std::memory_order_relaxed) == kMaxArenas; }

  uint64_t page_bytes() const { return page_bytes_; }
  uint64_t reserved_bytes() const;

 private:
  static constexpr int kMaxArenas = 16;
  // The bits of a page's number that identify the page within its arena.
  static constexpr int kPageBits = 27;
  // The size of a region is a multiple of this.
  static constexpr uint64_t kStepBytes = uint64_t{64} << 20;

  // The size and the alignment of a window.
  static constexpr uint64_t kWindowBytes = uint64_t{1} << 40;

  struct PageTouches {
    std::atomic<uint32_t> last;
    std::atomic<uint32_t> exposed;
    std::atomic<uint32_t> born;
    // The uses in the lowest 8 bits, and above them the number of the count to which they belong.
    std::atomic<uint32_t> uses;
    std::atomic<uint64_t> gaps;
  };

  static constexpr uint32_t kMostUses = 0xFF;
  uint32_t NumberOfCount() const { return count_of_uses_.load(std::memory_order_relaxed) << 8; }
  uint32_t UsesOf(const PageTouches& page) const;

  struct Arena {
    uint64_t address = 0;
    uint64_t size = 0;
    int step_shift = 0;   // addresses per entry of `heaps`
    bool window = false;  // a window: addresses of the plain driver, none reserved
    uint64_t used = 0;    // bytes in use, from the start on
    std::atomic<uint16_t>* heaps = nullptr;
    Page* pages = nullptr;
    PageTouches* touches = nullptr;  // by page
  };

  DriverResult AddArena(uint64_t least) VRAMSTOW_REQUIRES(kDeviceLock);
  bool OpenTables(Arena* arena, uint64_t address, uint64_t size, uint64_t step);
  static void FreeTables(Arena* arena, uint64_t page_bytes);
  DriverResult AddWindow(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  void Mark(uint64_t address, uint64_t size, uint16_t heap);
  int ArenaOf(uint64_t address) const;
  PageTouches& TouchesOf(uint64_t address) const;
  // Returns null if the page is not the pool's.
  PageTouches* FindTouches(uint64_t address) const;

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  uint64_t page_bytes_ = 0;
  uint64_t step_bytes_ = kStepBytes;
  uint64_t wanted_ = 0;
  uint64_t least_ = 0;
  std::atomic<int> count_{0};
  std::atomic<uint32_t> count_of_uses_{0};
  Arena arenas_[kMaxArenas];
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_ADDRESS_SPACE_H_
