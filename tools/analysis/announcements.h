// Announcements: what was said to be given back lately, so that it can be undone.
//
// Idea: a free is recorded before the driver is asked. If the driver refuses, the same thread says
// so, usually with its next event. So the last few announcements of each thread are enough.
//
// Ownership: copies. Threads: one at a time. Errors: a refusal of something that is not remembered
// finds nothing. Memory: bounded for each thread.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ANNOUNCEMENTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ANNOUNCEMENTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/address_ranges.h"
#include "tools/analysis/live_block.h"
#include "tools/analysis/physical_memory.h"

namespace vramstow {

// Where a block is kept.
enum class BlockPlace : uint8_t {
  kNowhere,
  kAddresses,
  kArrays,
  kRegistered,
  kImports,
  kPhysical,
  kFramework,
};

struct RemovedMapping {
  Mapping mapping;
  PhysicalChange change;
};

struct Announcement {
  uint64_t sequence = 0;
  uint64_t event = 0;  // counted as LiveBlock::birth is
  uint64_t address = 0;
  uint64_t range_size = 0;
  std::vector<RemovedMapping> mappings;
  EventKind kind = EventKind::kNone;
  BlockPlace place = BlockPlace::kNowhere;  // kNowhere: of an unseen block
  uint16_t library = kUnknownName;
  uint16_t call = kUnknownName;
  MemoryKind memory = MemoryKind::kNone;  // as the free was counted
  LiveBlock block;
  PhysicalChange physical;
};

class Announcements {
 public:
  // A place to fill for an announcement of `thread`; valid until the next call.
  Announcement* Begin(uint32_t thread);
  // The announcement with this sequence, of whatever thread, or null. It may be taken once.
  Announcement* Find(uint32_t thread, uint64_t sequence);

 private:
  static constexpr size_t kRemembered = 4;
  struct Ring {
    std::array<Announcement, kRemembered> places;
    size_t next = 0;
  };
  Ring* RingOf(uint32_t thread);

  absl::flat_hash_map<uint32_t, std::unique_ptr<Ring>> rings_;
  uint32_t last_thread_ = 0;
  Ring* last_ring_ = nullptr;  // of last_thread_: most events are of the thread of the one before
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ANNOUNCEMENTS_H_
