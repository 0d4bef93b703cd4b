#include "interpose/core/share/movable_memory.h"

#include <algorithm>

#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"

namespace vramstow {

template <typename Visit>
void MovableMemory::VisitPools(Visit visit) const {
  const ScopedCallContext call;
  for (int i = 0; i < pools_.count(); ++i) {
    const Pools::Use use = pools_.At(i);
    if (use && use.offloader() != nullptr && use.device() == device_) visit(use);
  }
}

bool MovableMemory::CanMove() const {
  bool can_move = false;
  VisitPools([&](const Pools::Use&) { can_move = true; });
  return can_move;
}

MovableMemory::Figures MovableMemory::Measure() const {
  Figures figures;
  VisitPools([&](const Pools::Use& use) {
    figures.resident_bytes += use->Stats().reserved_bytes;
    figures.away_bytes += use.offloader()->Stats().paused_bytes;
    figures.idle_bytes += use->pages()->IdleBytes();
    const DriverTable* const driver = use->pages()->driver();
    if (figures.total_bytes != 0) return;
    driver->memory_info(driver->self, &figures.free_bytes, &figures.total_bytes);
  });
  return figures;
}

bool MovableMemory::HasWorkEnded() const {
  bool has_ended = true;
  VisitPools([&](const Pools::Use& use) { has_ended = has_ended && use->pages()->HasWorkEnded(); });
  return has_ended;
}

uint64_t MovableMemory::CardTime() const {
  uint64_t now = 0;
  VisitPools([&](const Pools::Use& use) { now = use->pages()->Now(); });
  return now;
}

uint64_t MovableMemory::ResidentBytes() const {
  uint64_t bytes = 0;
  VisitPools([&](const Pools::Use& use) { bytes += use->Stats().reserved_bytes; });
  return bytes;
}

void MovableMemory::LimitGrowth(uint64_t resident_bytes, uint64_t bytes) const {
  const uint64_t now_bytes = ResidentBytes();
  const uint64_t grown = now_bytes - std::min(now_bytes, resident_bytes);
  const uint64_t left = bytes - std::min(bytes, grown);
  VisitPools([left](const Pools::Use& use) {
    use->SetRoom(std::max<uint64_t>(use->Stats().reserved_bytes + left, 1));
  });
}

void MovableMemory::TellReachable(uint64_t bytes) const {
  const uint64_t resident = ResidentBytes();
  VisitPools([&](const Pools::Use& use) {
    const uint64_t others = resident - std::min(resident, use->Stats().reserved_bytes);
    use->SetReachable(std::max<uint64_t>(bytes - std::min(bytes, others), 1));  // 0: not known
  });
}

void MovableMemory::RemoveLimit() const {
  VisitPools([](const Pools::Use& use) {
    use->SetRoom(0);
    use->SetReachable(0);
  });
}

MovableMemory::MovedOut MovableMemory::MoveOut(uint64_t bytes) const {
  MovedOut moved;
  VisitPools([&](const Pools::Use& use) {
    if (moved.freed_bytes >= bytes) return;
    // Cached memory that unfinished work uses cannot be released. Memory in use would move instead.
    const bool has_ended = use.offloader()->standstill().Reach();
    const uint64_t released = use->Trim({.bytes = bytes - moved.freed_bytes}).released_bytes;
    moved.freed_bytes += released;
    // The table gets the new figures before memory in use moves, which takes longer.
    if (released != 0 || moved.freed_bytes >= bytes || moved.paused_bytes >= kSliceBytes ||
        !has_ended)
      return;
    const uint64_t wanted = std::min(bytes - moved.freed_bytes, kSliceBytes - moved.paused_bytes);
    const uint64_t before = use->Stats().reserved_bytes;
    uint64_t paused = 0;
    const PauseOptions options = {.keep = true, .graphs = true, .most_bytes = wanted};
    const OffloadResult result = use.offloader()->Pause(Offloader::kAnyTag, options, &paused);
    const bool is_temporary = result == OffloadResult::kBusy || result == OffloadResult::kCapturing;
    // If the driver fails to release memory, the pool still has it.
    const uint64_t freed = before - std::min(before, use->Stats().reserved_bytes);
    const bool is_rest_stuck = paused < wanted || freed == 0;
    moved.is_stuck = moved.is_stuck || (!is_temporary && is_rest_stuck);
    moved.freed_bytes += freed;
    moved.paused_bytes += paused;
  });
  // What one pool cannot give, the next one may give in the next slice.
  if (moved.freed_bytes >= bytes || moved.paused_bytes >= kSliceBytes) moved.is_stuck = false;
  return moved;
}

MovableMemory::MovedBack MovableMemory::MoveBack(uint64_t bytes) const {
  MovedBack moved;
  VisitPools([&](const Pools::Use& use) {
    if (use.offloader()->Stats().paused_bytes == 0) return;
    uint64_t returned = 0;
    if (moved.bytes < bytes) {
      use.offloader()->Resume(Offloader::kAnyTag, bytes - moved.bytes, &returned);
    }
    moved.bytes += returned;
    moved.away_bytes += use.offloader()->Stats().paused_bytes;
  });
  return moved;
}

}  // namespace vramstow
