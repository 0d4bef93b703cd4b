#include "allocator/offload/host_stock.h"

#include <algorithm>

#include "allocator/core/counter.h"
#include "allocator/core/relaxed_capture.h"

namespace vramstow {
namespace {

// The number of chunks that are released at a time; allocations must wait meanwhile.
constexpr uint64_t kMaxAtOnce = 32;

}  // namespace

void HostStock::Open(PoolPages* pool, const HostLimits& limits) {
  pool_ = pool;
  limits_ = limits;
  last_move_ns_ = 0;
  released_.store(0, std::memory_order_relaxed);
  mappings_used_up_.store(false, std::memory_order_relaxed);
  arena_.Open(pool->driver(), &pool->events(), &pool->exchange());
}

void HostStock::Close(bool alive) { arena_.Close(alive); }

bool HostStock::Has(uint64_t bytes) const {
  if (pool_->exchange().host_bytes() + bytes > limits_.host_bytes) return false;
  return limits_.host_free_bytes == nullptr ||
         limits_.host_free_bytes() >= bytes + limits_.keep_host_free_bytes;
}

// If the limits require it, idle page-locked memory is released first.
uint64_t HostStock::EnsureMapped(uint64_t count) {
  ChunkExchange& chunks = pool_->exchange();
  const uint64_t idle = chunks.idle_host_chunks();
  if (idle >= count) return count;
  // The host is asked once for all chunks, because asking takes a while.
  uint64_t lacking = count - idle;
  if (chunks.idle_pinned_chunks() != 0 && !Has(lacking * chunks.chunk_bytes())) {
    Released(arena_.Release());
  }
  while (lacking > 0 && !Has(lacking * chunks.chunk_bytes())) lacking /= 2;
  const uint64_t most = limits_.host_mappings;
  if (most != 0 && chunks.host_chunks() + lacking > most) {
    lacking = chunks.host_chunks() < most ? most - chunks.host_chunks() : 0;
    mappings_used_up_.store(true, std::memory_order_relaxed);
  }
  constexpr auto kMapped = ChunkExchange::OwnAddressIs::kMapped;
  for (uint64_t i = 0; i < lacking && chunks.MakeHost(kMapped) == kDriverSuccess; ++i) {
  }
  return std::min(chunks.idle_host_chunks(), count);
}

// If the limits require it, idle mappable chunks are released first.
uint64_t HostStock::EnsurePinned(uint64_t count, uint64_t coming) {
  ChunkExchange& chunks = pool_->exchange();
  const uint64_t size = chunks.chunk_bytes();
  const uint64_t idle = chunks.idle_pinned_chunks();
  if (idle >= count) return count;
  if (!Has((coming - idle) * size)) {
    Released(chunks.ReleaseHost(chunks.idle_host_chunks()) * size);
  }
  uint64_t pieces = coming - idle;
  while (pieces > 0 && !Has(pieces * size)) pieces /= 2;
  arena_.Grow(pieces);
  return std::min(chunks.idle_pinned_chunks(), count);
}

// --- Releasing ----------------------------------------------------------------------------------

uint64_t HostStock::Released(uint64_t bytes) {
  Bump(&released_, bytes);
  return bytes;
}

bool HostStock::MayRelease(uint64_t unused_ns) {
  return !pool_->fences().capturing() && pool_->Now() - last_move_ns_ >= unused_ns;
}

uint64_t HostStock::ReleaseMapped(uint64_t unused_ns) {
  uint64_t released = 0;
  for (;;) {
    DeviceLock device_lock(pool_->mutex());
    if (!MayRelease(unused_ns)) return released;
    const uint64_t count = pool_->exchange().ReleaseHost(kMaxAtOnce);
    released += Released(count * pool_->page_bytes());
    if (count < kMaxAtOnce) return released;
  }
}

uint64_t HostStock::ReleasePinned(uint64_t unused_ns) {
  uint64_t released = 0;
  HostArena::Leaving block{};
  {
    DeviceLock device_lock(pool_->mutex());
    if (!MayRelease(unused_ns)) return 0;
    arena_.Detach();
    if (!arena_.NextDetached(&block)) return 0;
  }
  for (bool more = true; more;) {
    const DriverResult result = arena_.Free(block);
    DeviceLock device_lock(pool_->mutex());
    released += Released(arena_.EndFree(block, result));
    more = arena_.NextDetached(&block);
  }
  return released;
}

uint64_t HostStock::Release(uint64_t unused_ns) {
  const ChunkExchange& chunks = pool_->exchange();
  if (chunks.idle_host_chunks() == 0 && chunks.idle_pinned_chunks() == 0) return 0;
  RelaxedCapture relaxed(pool_->driver());
  relaxed.Begin();
  const uint64_t mapped = ReleaseMapped(unused_ns);
  return mapped + ReleasePinned(unused_ns);
}

}  // namespace vramstow
