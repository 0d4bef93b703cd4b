// AddressSpace: the large reserved address ranges (arenas) of one pool, and what lies where.
//
// Idea: addresses cost nothing, so a range many times as large as the device's memory is reserved
// once and cut into regions, which heaps take and keep. Two flat tables say, without a lock, which
// heap an address belongs to, and, under the device's lock, which chunk backs a page of it. A page
// keeps the mapping of a chunk that has moved on (its shadow) until the page is needed for another:
// a chunk that comes back finds its way without a driver call.
//
// Memory that came from the plain driver (segments) lies wherever that put it: the same tables, of
// whole windows of addresses in which only the segments are ours.
//
// Ownership: the ranges, until Close. Threads: HeapOf and Owns from any thread; all else under the
// device's lock. Errors: DriverResult. Units: bytes; a page is as large as a chunk.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_ADDRESS_SPACE_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_ADDRESS_SPACE_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"

#include "allocator/core/driver.h"
#include "allocator/core/events.h"

namespace vramstow {

struct Page {
  uint32_t chunk;         // that is in use here; 0: none
  uint32_t mapped;        // that is mapped here: the same, or a shadow; 0: none
  uint32_t next;          // number of the next page where `mapped` is mapped; 0: there is none
  uint32_t tick;          // of a shadow: work came this way until this tick…
  uint32_t mark;          // Heap's: a free page, as of the plan with this number
  uint32_t interference;  // InterferenceMap's: number of its mask; 0: it has none
  uint16_t timeline;      // …of this timeline
  bool fresh : 1;         // mapped just now, and not yet accessible
  // How often somebody outside was told of the chunk that is in use here: as long as that is not 0
  // it does not leave. kForGood: it never does.
  uint16_t registrations : 15;

  static constexpr uint16_t kForGood = (1 << 15) - 1;
  bool registered() const { return registrations != 0; }
};
static_assert(sizeof(Page) == 28,
              "there is one for each page of sixteen times the device's memory");

class AddressSpace {
 public:
  static constexpr uint16_t kNoHeap = 0;

  // `wanted` bytes per arena; less where the driver does not have it, but at least `least`.
  void Open(const DriverTable* driver, const PoolEvents* events, uint64_t page_bytes,
            uint64_t wanted, uint64_t least);
  // Gives the ranges back; `alive` false: the context is gone and they with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // A region of at least `size` bytes for the heap, page aligned and rounded up to a step.
  DriverResult TakeRegion(uint64_t size, uint16_t heap, uint64_t* address, uint64_t* region_size)
      VRAMSTOW_REQUIRES(kDeviceLock);

  // Memory of the plain driver at these pages is the heap's, until Drop. Out of memory: the records
  // reach no further.
  DriverResult TakeSegment(uint64_t address, uint64_t size, uint16_t heap)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void DropSegment(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock) {
    Mark(address, size, kNoHeap);
  }

  // The heap whose region the address lies in, or kNoHeap.
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
  // Whether the address lies in a range of ours, in use or not.
  bool Owns(uint64_t address) const;

  // The page that the address lies in; the address is in a region.
  Page& PageAt(uint64_t address);
  // Pages have numbers, from 1 on.
  uint32_t NumberOf(uint64_t address) const;
  uint64_t AddressOf(uint32_t number) const;
  Page& operator[](uint32_t number);

  // When a page was last known to be touched, as a number that grows; 0: never. For ever, until
  // Renew: kPinned, a captured graph may use it; kHeld, somebody outside has its memory, which
  // counts more. For offload: any thread may write it.
  static constexpr uint32_t kHeld = ~uint32_t{0};
  static constexpr uint32_t kPinned = kHeld - 1;
  struct Touches {
    uint32_t last;
    // How long it was between the last touches that were more than a moment apart: four numbers of
    // 16 bits, the latest in the lowest.
    uint64_t gaps;
    uint32_t exposed;  // when Expose was last called; 0: never
    uint32_t born;     // when Renew was last called; 0: never
  };
  // True: that is news: a page of ours, not pinned or held, not touched at the same time before.
  bool Touch(uint64_t address, uint32_t when);
  // A block was allocated on the page at this time, which counts as a touch.
  void Renew(uint64_t address, uint32_t when);
  // From this time on, work may use the page though no call names its address.
  void Expose(uint64_t address, uint32_t when);
  // Of a page of ours.
  Touches TouchesAt(uint64_t address) const;

  // True if no arena and no window can be added.
  bool full() const { return count_.load(std::memory_order_relaxed) == kMaxArenas; }

  uint64_t page_bytes() const { return page_bytes_; }
  uint64_t reserved_bytes() const;

 private:
  static constexpr int kMaxArenas = 16;
  // Bits of a page's number that name it within its arena.
  static constexpr int kPageBits = 27;
  // Regions are multiples of this.
  static constexpr uint64_t kStepBytes = uint64_t{64} << 20;

  // As large as a window is, and aligned to that.
  static constexpr uint64_t kWindowBytes = uint64_t{1} << 40;

  struct PageTouches {
    std::atomic<uint32_t> last;
    std::atomic<uint32_t> exposed;
    std::atomic<uint32_t> born;
    std::atomic<uint64_t> gaps;
  };

  struct Arena {
    uint64_t address = 0;
    uint64_t size = 0;
    int step_shift = 0;   // addresses per entry of `heaps`
    bool window = false;  // of others' addresses: nothing was reserved
    uint64_t used = 0;    // from the start on
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
  // Null: no page of ours.
  PageTouches* FindTouches(uint64_t address) const;

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  uint64_t page_bytes_ = 0;
  uint64_t step_bytes_ = kStepBytes;
  uint64_t wanted_ = 0;
  uint64_t least_ = 0;
  std::atomic<int> count_{0};
  Arena arenas_[kMaxArenas];
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_ADDRESS_SPACE_H_
