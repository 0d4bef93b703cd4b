// DeferredFrees: frees of small blocks in a heap of very many, whose records lie in no cache of the
// processor's.
//
// Idea: one bit for each place where a small block may begin (LiveBits) says at once whether an
// address may be freed. The block's place in the address map is then fetched ahead; eight frees
// later its record is, and eight frees after that the free is done. A deferred block counts as live
// until then; all but a hit and a free flush first.
//
// Ownership: the bits. Threads: the heap's lock; any from any thread. Errors: none: where something
// is not known, a free is not deferred. Units: bytes.
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
  // Below so many live blocks the records fit into a processor's own cache.
  static constexpr uint64_t kTracksFrom = 6144;
  // So many bytes of blocks have a byte of bits.
  static constexpr uint64_t kBitsReach = kBlockBytes * 8;

  void Close() { bits_.Close(); }

  // From now on it is known without a look at the records where small blocks begin. Nothing is
  // deferred.
  void Track(const SpanTable& spans);
  bool tracks() const { return tracks_; }
  // The heap has a new region.
  void NoteRegion(const SpanTable& spans, const SpanTable::Region& region);

  void NoteFreed(uint64_t address) {
    if (tracks_) bits_.Clear(address);
  }
  void NoteLive(uint64_t address) {
    if (tracks_) bits_.Set(address);
  }

  // Frees the block at this address later. False: no block that is known to live is there, and
  // nothing was done. take_back(index) frees the oldest block that was deferred.
  template <typename TakeBack>
  bool Defer(uint64_t address, const AddressMap& map, SpanTable* spans, TakeBack take_back) {
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
    if (oldest != 0) take_back(oldest);
    return true;
  }
  // Whether something is deferred.
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // Frees all of it now, in the order of the frees.
  template <typename TakeBack>
  void Flush(const AddressMap& map, TakeBack take_back) {
    for (uint32_t i = 0; i < kPlaces; ++i, ++next_) {
      const uint32_t place = next_ % kPlaces;
      const uint32_t index = found_[place];
      found_[place] = 0;
      if (index != 0) take_back(index);
    }
    for (uint32_t i = 0; i < kPlaces; ++i, ++next_) {
      const uint32_t place = next_ % kPlaces;
      const uint64_t address = addresses_[place];
      addresses_[place] = 0;
      if (address != 0) take_back(map.Find(address));
    }
    count_.store(0, std::memory_order_relaxed);
  }

  // Null if the bits agree with the span, else a sentence.
  const char* Check(const Span& span) const;

 private:
  static constexpr uint32_t kPlaces = 8;

  LiveBits bits_;       // of the small zone's blocks, where tracks_
  bool narrow_ = true;  // no two addresses of the heap look alike to the map
  bool tracks_ = false;
  bool defers_ = false;  // tracks_ and narrow_
  std::atomic<uint32_t> count_{0};
  uint32_t next_ = 0;
  uint64_t addresses_[kPlaces] = {};  // their places in the map are being fetched
  uint32_t found_[kPlaces] = {};      // blocks: their records are being fetched
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_DEFERRED_FREES_H_
