#include "interpose/core/pools/reclaim_source.h"

#include <cstdio>

#include "allocator/offload/offloader.h"
#include "allocator/pool/pool.h"
#include "base/keep_errno.h"
#include "interpose/core/pools/room_request.h"
#include "interpose/core/record/trace.h"

namespace vramstow {
namespace {

// Records the fact `device.N.moved_at_limit_bytes`: memory has moved because the pool had reached
// this limit. If memory moves without a limit, the fact becomes 0 for good.
void DescribeLimit(ReclaimSource* source, uint64_t limit) {
  uint64_t before = source->reached_limit.load(std::memory_order_relaxed);
  do {
    const bool any_before = before != ReclaimSource::kNothingMoved;
    if (any_before && (before == 0 || (limit != 0 && limit <= before))) return;
  } while (!source->reached_limit.compare_exchange_weak(before, limit));
  KeepErrno keep_errno;
  char key[48];
  char value[24];
  std::snprintf(key, sizeof key, "device.%d.moved_at_limit_bytes", source->device);
  std::snprintf(value, sizeof value, "%llu", static_cast<unsigned long long>(limit));
  source->trace->Describe(key, value);
}

uint64_t Evict(ReclaimSource* source, uint64_t bytes) {
  if (source->offloader == nullptr) return 0;
  const uint64_t limit = source->pool->LimitReachedBy(bytes);
  const uint64_t moved = Offloader::Reclaim(source->offloader, bytes);
  if (moved != 0) DescribeLimit(source, limit);
  return moved;
}

// Asks the other processes for what is lacking after `moved` bytes have been evicted. Returns the
// bytes of both.
uint64_t AskForRest(const ReclaimSource& source, uint64_t bytes, uint64_t moved) {
  if (moved >= bytes || source.room_request == nullptr) return moved;
  return source.room_request->Ask(bytes - moved) ? bytes : moved;
}

}  // namespace

uint64_t ReclaimSource::Reclaim(void* self, uint64_t bytes) {
  auto* const source = static_cast<ReclaimSource*>(self);
  return AskForRest(*source, bytes, Evict(source, bytes));
}

uint64_t ReclaimSource::ReclaimAgain(void* self, uint64_t bytes) {
  auto* const source = static_cast<ReclaimSource*>(self);
  const uint64_t moved = Evict(source, bytes);
  return moved == 0 ? 0 : AskForRest(*source, bytes, moved);
}

}  // namespace vramstow
