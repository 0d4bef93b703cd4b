// OffloadFacts and GarbageFacts: what was moved to the host, and what was collected, for lack of
// room.
//
// Ownership: plain values. Threads: values. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_OFFLOAD_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_OFFLOAD_FACTS_H_

#include <array>
#include <cstdint>
#include <optional>
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

// A change of the program by hand with which the job would need less, so that nothing has to move.
struct HandChange {
  std::string change;         // as docs/metrics.md has it
  std::string place = {};     // a line of the layers; empty: it is about no line
  uint64_t needed_bytes = 0;  // that the job then needs of the card
  bool fits = false;
  bool changes_numbers = false;        // what the program computes is rounded otherwise
  uint64_t count = 0;                  // of layers, or of micro-batches; 0: it has none
  uint64_t layers = 0;                 // of how many
  uint64_t moved_bytes = 0;            // to the host and back in each iteration
  std::optional<double> seconds = {};  // of an iteration, more; not known: no clock tells
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
  // The time that offload costs in an iteration, by the simulated card's clock.
  std::optional<double> step_cost_seconds = {};
  std::vector<HandChange> by_hand;  // where it is so, the best first; of one trace only
  uint64_t left_out = 0;            // moves that are in the sums only
  std::vector<OffloadSite> sites;   // most first; of one trace only
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
