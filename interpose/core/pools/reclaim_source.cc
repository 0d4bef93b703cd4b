#include "interpose/core/pools/reclaim_source.h"

#include "allocator/offload/offloader.h"
#include "interpose/core/pools/room_request.h"

namespace vramstow {
namespace {

uint64_t Evict(const ReclaimSource& source, uint64_t bytes) {
  return source.offloader == nullptr ? 0 : Offloader::Reclaim(source.offloader, bytes);
}

// Asks the other processes for what is lacking after `moved` bytes have been evicted. Returns the
// bytes of both.
uint64_t AskForRest(const ReclaimSource& source, uint64_t bytes, uint64_t moved) {
  if (moved >= bytes || source.room_request == nullptr) return moved;
  return source.room_request->Ask(bytes - moved) ? bytes : moved;
}

}  // namespace

uint64_t ReclaimSource::Reclaim(void* self, uint64_t bytes) {
  const auto& source = *static_cast<ReclaimSource*>(self);
  return AskForRest(source, bytes, Evict(source, bytes));
}

uint64_t ReclaimSource::ReclaimAgain(void* self, uint64_t bytes) {
  const auto& source = *static_cast<ReclaimSource*>(self);
  const uint64_t moved = Evict(source, bytes);
  return moved == 0 ? 0 : AskForRest(source, bytes, moved);
}

}  // namespace vramstow
