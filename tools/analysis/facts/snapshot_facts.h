// SnapshotStateFacts: the state at the end of a file, if the file itself contains it.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_SNAPSHOT_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_SNAPSHOT_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/event.h"

namespace vramstow {

// The state at the end of a file that contains it.
struct SnapshotStateFacts {
  uint64_t segments = 0;
  uint64_t blocks = 0;
  uint64_t reserved_bytes = 0;
  uint64_t allocated_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t pending_bytes = 0;
  uint64_t allocated_blocks = 0;
  uint64_t pending_blocks = 0;
  uint64_t inactive_blocks = 0;
  struct Pool {
    int device = kNoDevice;
    uint64_t stream = 0;
    std::string id;
    uint64_t segments = 0;
    uint64_t reserved_bytes = 0;
    uint64_t allocated_bytes = 0;
    uint64_t largest_free_bytes = 0;
  };
  std::vector<Pool> pools;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_SNAPSHOT_FACTS_H_
