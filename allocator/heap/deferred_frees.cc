#include "allocator/heap/deferred_frees.h"

#include <algorithm>

namespace vramstow {

void DeferredFrees::Track(const SpanTable& spans) {
  for (uint32_t r = 0; r < spans.region_count(); ++r) {
    const SpanTable::Region& region = spans.region(r);
    // Some regions cannot be described by bits. Blocks of such a region are freed at once.
    if (region.zone != SpanTable::kSmallZone || !bits_.Cover(region.address, region.size)) continue;
    for (uint32_t i = region.first; i != 0; i = spans[i].next) {
      if (spans[i].state == SpanState::kLive) bits_.Set(spans[i].address);
    }
  }
  tracks_ = true;
  defers_ = narrow_;
}

void DeferredFrees::NoteRegion(const SpanTable& spans, const SpanTable::Region& region) {
  if (tracks_ && region.zone == SpanTable::kSmallZone) bits_.Cover(region.address, region.size);
  for (uint32_t r = 0; r < spans.region_count(); ++r) {
    const SpanTable::Region& other = spans.region(r);
    const uint64_t apart =
        std::max(other.address, region.address) - std::min(other.address, region.address);
    if (apart + std::max(other.size, region.size) > AddressMap::kKeyReach) narrow_ = false;
  }
  defers_ = tracks_ && narrow_;
}

const char* DeferredFrees::Check(const Span& span) const {
  const bool live = span.state == SpanState::kLive;
  if (!live && bits_.Test(span.address)) return "a bit says that a block is live which is not";
  if (live && tracks_ && bits_.Covers(span.address) && !bits_.Test(span.address)) {
    return "a live block's bit is not set";
  }
  return nullptr;
}

}  // namespace vramstow
