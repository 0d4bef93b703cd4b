// FrameworkLayer: follows the events of frameworks: blocks that they allocate from a pool, and
// blocks that are freed and may not be used again yet (pending).
//
// Ownership: keeps copies; the objects given to the constructor outlive it. Threads: used by one
// thread at a time. Errors: frees of blocks whose allocation was not seen are in the counts. Units:
// bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FRAMEWORK_LAYER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FRAMEWORK_LAYER_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/failures.h"
#include "tools/analysis/accounts/free_space.h"
#include "tools/analysis/accounts/live_blocks.h"
#include "tools/analysis/accounts/pool_segments.h"

namespace vramstow {

class FrameworkLayer {
 public:
  // `reports_completed_frees` is true if the source reports each free twice
  // (EventSource::ReportsFreeCompleted).
  FrameworkLayer(Accounts* accounts, FreeSpace* space, PoolSegments* segments, Failures* failures,
                 bool reports_completed_frees)
      : accounts_(*accounts),
        space_(*space),
        segments_(*segments),
        failures_(*failures),
        reports_completed_frees_(reports_completed_frees),
        blocks_(accounts, space) {}

  void Add(const Event& event);
  // Ends a block that may have been freed by an event that is missing.
  void Lose(uint64_t address);

  const BlockTable& blocks() const { return blocks_.table(); }
  // Returns the highest number of bytes that were freed and had to wait, if the source reports when
  // a free is complete.
  std::optional<uint64_t> pending_peak_bytes() const;
  template <typename Visit>  // void(const LiveBlock&)
  void ForEachPending(Visit visit) const {
    for (const auto& [address, pending] : pending_) visit(pending.block);
  }
  // Adds the lives of blocks that are still pending. Call it at the end of the analysis.
  void EndLives();

 private:
  struct Pending {
    LiveBlock block;
    uint64_t since = 0;
    uint64_t since_ns = 0;
    bool waits = false;  // another event came between the free and its completion
  };

  void AddAllocate(const Event& event);
  void AddFree(const Event& event);
  void EndPending(uint64_t address);
  // Counts the block that the device's last event freed as waiting, unless `event` completes the
  // free. An allocator that may use a block again at once completes its free in the next event.
  void NoteNext(const Event& event);
  static Life LifeOf(const Pending& pending);

  Accounts& accounts_;
  FreeSpace& space_;
  PoolSegments& segments_;
  Failures& failures_;
  const bool reports_completed_frees_;
  LiveBlocks blocks_;
  absl::flat_hash_map<uint64_t, Pending> pending_;     // by address
  absl::flat_hash_map<int16_t, uint64_t> just_freed_;  // address, by device
  uint64_t waiting_bytes_ = 0;
  uint64_t waiting_peak_bytes_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FRAMEWORK_LAYER_H_
