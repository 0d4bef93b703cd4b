// ProvisionalFrees: the most recent frees of each thread, so that they can be undone.
//
// Idea: a free is recorded before the driver is called, so it is provisional. If the driver
// refuses, the same thread records the refusal, usually as its next event. So the last few
// provisional frees of each thread are enough.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: a refusal of a
// free that is no longer remembered finds nothing. Memory: bounded for each thread.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PROVISIONAL_FREES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PROVISIONAL_FREES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/address_ranges.h"
#include "tools/analysis/accounts/driver_memory.h"
#include "tools/analysis/accounts/live_block.h"
#include "tools/analysis/accounts/physical_memory.h"

namespace vramstow {

struct RemovedMapping {
  Mapping mapping;
  PhysicalChange change;
};

struct ProvisionalFree {
  uint64_t sequence = 0;
  uint64_t event = 0;  // counted as LiveBlock::birth is
  uint64_t address = 0;
  uint64_t range_size = 0;
  std::vector<RemovedMapping> mappings;
  EventKind kind = EventKind::kNone;
  BlockPlace place = BlockPlace::kNowhere;  // kNowhere if the block was not seen
  uint16_t library = kUnknownName;
  uint16_t call = kUnknownName;
  MemoryKind memory = MemoryKind::kNone;  // as the free was counted
  LiveBlock block;
  PhysicalChange physical;

  // True if the freed block held a framework's blocks (LiveBlock::holds).
  bool Held() const {
    if (place == BlockPlace::kPhysical) return physical.block.holds;
    return place != BlockPlace::kNowhere && block.holds;
  }
};

class ProvisionalFrees {
 public:
  // Returns an entry for the free of `event`, whose number among all events is `number`. The fields
  // that the event contains are filled in; the caller fills in the other fields. The pointer is
  // valid until the next call.
  ProvisionalFree* Begin(const Event& event, uint64_t number);
  // Returns the free that was recorded by the event with this sequence number, or null. A free can
  // be undone only once.
  ProvisionalFree* Find(uint32_t thread, uint64_t sequence);

 private:
  static constexpr size_t kRemembered = 4;
  struct Ring {
    std::array<ProvisionalFree, kRemembered> places;
    size_t next = 0;
  };
  Ring* RingOf(uint32_t thread);

  absl::flat_hash_map<uint32_t, std::unique_ptr<Ring>> rings_;
  uint32_t last_thread_ = 0;
  // The ring of last_thread_. It saves most look-ups, because most events have the same thread as
  // the event before.
  Ring* last_ring_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PROVISIONAL_FREES_H_
