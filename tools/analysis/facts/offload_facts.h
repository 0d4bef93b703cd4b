// OffloadFacts and GarbageFacts: what was moved to the host, and what was collected, for lack of
// room.
//
// Ownership: plain values. Threads: values. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_OFFLOAD_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_OFFLOAD_FACTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/event.h"

namespace vramstow {

// The site that allocated memory which went to the host.
struct OffloadSite {
  uint32_t number = 0;  // SiteTable's
  std::string site;
  std::string operation;
  uint64_t bytes = 0;  // all moves together
};

// Live memory that was moved to the host or paused (--offload).
struct OffloadFacts {
  uint64_t out_bytes = 0;        // moved to the host, all moves together
  uint64_t returned_bytes = 0;   // and back
  uint64_t gate_ns = 0;          // submissions waited for moves, all together…
  uint64_t longest_gate_ns = 0;  // …and for one
  uint64_t most_bytes = 0;       // away at once
  std::array<uint64_t, kOffloadReasons> by_reason = {};  // that left, by OffloadReason
  // Whether the job ran only because memory was moved: requests lacked room, and none failed.
  bool carries_job = false;
  // Where it is so: what the job needs of the card, with what was gone of it before, and how large
  // the card is; 0: not known.
  uint64_t needed_bytes = 0;
  uint64_t card_bytes = 0;
  uint64_t left_out = 0;           // moves that are in the sums only
  std::vector<OffloadSite> sites;  // most first; of one trace only
};

// A ring of references that kept dead tensors.
struct CycleFacts {
  std::string cycle;         // "Holder.cycle → itself"
  std::string about;         // its largest tensor: "float32 [64, 1024]"
  uint64_t bytes = 0;        // the most that one collection found in such rings
  uint64_t collections = 0;  // that found some
};

// Garbage that was collected before a request failed (--collect).
struct GarbageFacts {
  uint64_t collections = 0;     // in which garbage held device memory
  uint64_t saved_requests = 0;  // that would have failed
  uint64_t freed_bytes = 0;     // all together…
  uint64_t most_bytes = 0;      // …and at once
  uint64_t duration_ns = 0;
  std::vector<CycleFacts> cycles;  // most first; of one trace only
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_OFFLOAD_FACTS_H_
