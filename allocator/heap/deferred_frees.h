// DeferredFrees: defers frees of small blocks in a heap with so many blocks that their records are
// in no CPU cache.
//
// Idea: one bit for each position where a small block may begin (LiveBits) tells at once whether an
// address may be freed. The block's slot in the address map is then prefetched; eight frees later
// its record is prefetched, and after eight more frees the free is carried out. A deferred block
// counts as live until then. Every operation, except a free and an allocation from cached memory,
// first carries out the deferred frees.
//
// Ownership: the class owns the bits. Threads: guarded by the heap's lock; any() may be called from
// any thread. Errors: none; if a free cannot be deferred, Defer returns false. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_DEFERRED_FREES_H_
#define VRAMSTOW_ALLOCATOR_HEAP_DEFERRED_FREES_H_

#include <atomic>
#include <cstdint>

#include "allocator/heap/address_map.h"
#include "allocator/heap/live_bits.h"
#include "allocator/heap/span_table.h"

namespace vramstow {

class DeferredFrees {
 public:
  // With fewer live blocks than this the records fit into a CPU core's own cache.
  static constexpr uint64_t kTracksFrom = 6144;
  // Bytes of blocks that one byte of bits describes.
  static constexpr uint64_t kBitsReach = kBlockBytes * 8;

  void Close() { bits_.Close(); }

  // Starts to track in bits where small blocks begin, so that a free need not read the records. No
  // free is deferred when this is called.
  void Track(const SpanTable& spans);
  bool tracks() const { return tracks_; }
  // Notes that the heap has a new region.
  void NoteRegion(const SpanTable& spans, const SpanTable::Region& region);

  void NoteFreed(uint64_t address) {
    if (tracks_) bits_.Clear(address);
  }
  void NoteLive(uint64_t address) {
    if (tracks_) bits_.Set(address);
  }

  // Defers the free of the block at this address. Returns false, and does nothing, if the bits show
  // no live block there. free_block(index) frees the oldest deferred block.
  template <typename Free>
  bool Defer(uint64_t address, const AddressMap& map, SpanTable* spans, Free free_block) {
    if (!defers_ || !bits_.Clear(address)) return false;
    map.Prefetch(address);
    const uint32_t place = next_++ % kPlaces;
    const uint64_t older = addresses_[place];
    addresses_[place] = address;
    if (older == 0) {
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return true;
    }
    const uint32_t index = map.Find(older);
    __builtin_prefetch(&(*spans)[index], 1);
    const uint32_t oldest = found_[place];
    found_[place] = index;
    if (oldest != 0) free_block(oldest);
    return true;
  }
  // True if any free is deferred.
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // Carries out all deferred frees now, in their order.
  template <typename Free>
  void Flush(const AddressMap& map, Free free_block) {
    for (uint32_t i = 0; i < kPlaces; ++i, ++next_) {
      const uint32_t place = next_ % kPlaces;
      const uint32_t index = found_[place];
      found_[place] = 0;
      if (index != 0) free_block(index);
    }
    for (uint32_t i = 0; i < kPlaces; ++i, ++next_) {
      const uint32_t place = next_ % kPlaces;
      const uint64_t address = addresses_[place];
      addresses_[place] = 0;
      if (address != 0) free_block(map.Find(address));
    }
    count_.store(0, std::memory_order_relaxed);
  }

  // Returns null if the bits agree with the span, else a sentence that states the difference.
  const char* Check(const Span& span) const;

 private:
  static constexpr uint32_t kPlaces = 8;

  LiveBits bits_;       // bits of the small zone's blocks, if tracks_
  bool narrow_ = true;  // no two addresses of the heap have the same key in the map
  bool tracks_ = false;
  bool defers_ = false;  // tracks_ and narrow_
  std::atomic<uint32_t> count_{0};
  uint32_t next_ = 0;
  uint64_t addresses_[kPlaces] = {};  // addresses whose slots in the map are being prefetched
  uint32_t found_[kPlaces] = {};      // blocks whose records are being prefetched
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_DEFERRED_FREES_H_
