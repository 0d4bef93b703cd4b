// TurnFigures keeps what this process knows of its own turns, for threads that report it.
//
// Idea: the thread that shares the GPU copies its slot of the table whenever it publishes it. So
// nobody else needs the lock of the table, and nobody waits.
//
// Ownership: none. Threads: one writes, any read; each figure is right by itself, and all are at
// most some milliseconds apart. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SHARE_TURN_FIGURES_H_
#define VRAMSTOW_INTERPOSE_CORE_SHARE_TURN_FIGURES_H_

#include <atomic>
#include <cstdint>

#include "base/share_state.h"
#include "base/share_table.h"

namespace vramstow {

class TurnFigures {
 public:
  struct Values {
    int device;
    ShareState state;
    uint64_t turns;
    uint64_t waited_ns;
    uint64_t out_bytes;
    uint64_t in_bytes;
  };

  constexpr TurnFigures() = default;
  TurnFigures(const TurnFigures&) = delete;
  TurnFigures& operator=(const TurnFigures&) = delete;

  // Copies the slot of this process, whose GPU has the number `device`.
  void Note(int device, const ShareSlot& slot, ShareState state) {
    turns_.store(slot.turns, std::memory_order_relaxed);
    waited_ns_.store(slot.waited_ns, std::memory_order_relaxed);
    out_bytes_.store(slot.out_bytes, std::memory_order_relaxed);
    in_bytes_.store(slot.in_bytes, std::memory_order_relaxed);
    state_.store(state, std::memory_order_relaxed);
    device_.store(device, std::memory_order_release);
  }
  // Returns false if the process does not share a GPU.
  bool Read(Values* values) const {
    *values = {
        device_.load(std::memory_order_acquire),    state_.load(std::memory_order_relaxed),
        turns_.load(std::memory_order_relaxed),     waited_ns_.load(std::memory_order_relaxed),
        out_bytes_.load(std::memory_order_relaxed), in_bytes_.load(std::memory_order_relaxed)};
    return values->device >= 0;
  }
  // In a forked child.
  void Reset() { device_.store(-1, std::memory_order_relaxed); }

 private:
  std::atomic<int> device_{-1};
  std::atomic<ShareState> state_{ShareState::kRuns};
  std::atomic<uint64_t> turns_{0};
  std::atomic<uint64_t> waited_ns_{0};
  std::atomic<uint64_t> out_bytes_{0};
  std::atomic<uint64_t> in_bytes_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SHARE_TURN_FIGURES_H_
