#include "interpose/core/pools/reclaim_source.h"

#include "allocator/offload/offloader.h"
#include "interpose/core/pools/room_request.h"

namespace vramstow {

uint64_t ReclaimSource::Reclaim(void* self, uint64_t bytes) {
  const auto* const source = static_cast<ReclaimSource*>(self);
  const uint64_t moved =
      source->offloader == nullptr ? 0 : Offloader::Reclaim(source->offloader, bytes);
  if (moved >= bytes || source->room_request == nullptr) return moved;
  return source->room_request->Ask(bytes - moved) ? bytes : moved;
}

uint64_t ReclaimSource::ReclaimAgain(void* self, uint64_t bytes) {
  const auto* const source = static_cast<ReclaimSource*>(self);
  if (source->offloader == nullptr) return 0;
  const uint64_t moved = Offloader::Reclaim(source->offloader, bytes);
  if (moved == 0 || moved >= bytes || source->room_request == nullptr) return moved;
  return source->room_request->Ask(bytes - moved) ? bytes : moved;
}

}  // namespace vramstow
