// HostLooks: what was seen of the host's memory while the job ran.
//
// Ownership: a value. Threads: one at a time. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_HOST_LOOKS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_HOST_LOOKS_H_

#include "base/event.h"
#include "tools/analysis/facts.h"

namespace vramstow {

class HostLooks {
 public:
  // A kMemoryInfo of no device: a look of the recorder's.
  void Add(const Event& look, uint64_t now_ns) {
    if (look.memory != MemoryKind::kHostPhysical) return;
    if (facts_.looks++ == 0 || look.size < facts_.least_free_bytes) {
      facts_.least_free_bytes = look.size;
      facts_.least_free_time_ns = now_ns;
      facts_.limit_bytes = look.requested;
      facts_.is_of_group = look.offset != 0;
    }
    if (look.object <= facts_.highest_resident_bytes) return;
    facts_.highest_resident_bytes = look.object;
    facts_.highest_resident_time_ns = now_ns;
  }
  const HostFacts& facts() const { return facts_; }

 private:
  HostFacts facts_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_HOST_LOOKS_H_
