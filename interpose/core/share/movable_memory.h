// MovableMemory is the memory of this process's pools on one GPU, which can move to the host and
// back for other processes.
//
// Ownership: none; the pools outlive it. Threads: one at a time. Errors: memory that does not move
// is as before; the results say how much moved. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_MOVABLE_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_MOVABLE_MEMORY_H_

#include <cstdint>

#include "base/units.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class MovableMemory {
 public:
  struct Figures {
    uint64_t resident_bytes = 0;
    uint64_t away_bytes = 0;   // on the host, so that no work may use them
    uint64_t idle_bytes = 0;   // of the resident bytes, those that no block uses
    uint64_t free_bytes = 0;   // of the GPU
    uint64_t total_bytes = 0;  // of the GPU; 0 if the driver does not answer or no pool is open
  };
  struct MovedOut {
    uint64_t freed_bytes = 0;   // of the GPU
    uint64_t paused_bytes = 0;  // bytes whose contents are on the host now
    bool is_stuck = false;      // the rest cannot move, or the driver does not release it
  };
  struct MovedBack {
    uint64_t bytes = 0;
    uint64_t away_bytes = 0;  // still on the host
  };

  constexpr MovableMemory(Pools& pools, int device) : pools_(pools), device_(device) {}
  MovableMemory(const MovableMemory&) = delete;
  MovableMemory& operator=(const MovableMemory&) = delete;

  // True if there is a pool whose memory can move.
  bool CanMove() const;
  Figures Measure() const;
  // True if all work that was submitted so far has ended.
  bool HasWorkEnded() const;
  // The time by the clock of the GPU, which is virtual if the GPU is simulated.
  uint64_t CardTime() const;
  // Lets each pool grow by at most `bytes` since the pools together held `resident_bytes`.
  void LimitGrowth(uint64_t resident_bytes, uint64_t bytes) const;
  // Lets the pools report as free what of these bytes, which they can have together, is not used.
  void TellReachable(uint64_t bytes) const;
  void RemoveLimit() const;

  // Contents move in slices of this size, so that the memory of one process can return while the
  // memory of another one leaves.
  static constexpr uint64_t kSliceBytes = 512 * kMiB;

  // Frees up to this much memory of the GPU: first cached memory, then up to a slice of the memory
  // in use. Waits for all submitted work.
  MovedOut MoveOut(uint64_t bytes) const;
  // Brings back up to this much, rounded down to pages, if the GPU has room for it.
  MovedBack MoveBack(uint64_t bytes) const;

 private:
  // The memory of the pools that is on the GPU.
  uint64_t ResidentBytes() const;
  template <typename Visit>
  void VisitPools(Visit visit) const;

  Pools& pools_;
  const int device_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_MOVABLE_MEMORY_H_
