// IterationsFacts, PhaseFacts and LifetimeFacts: the iterations of the work, its other phases, and
// the blocks that outlive an iteration.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes, nanoseconds since the trace began; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_ITERATION_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_ITERATION_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/facts/amount.h"
#include "tools/analysis/facts/site_facts.h"

namespace vramstow {

struct IterationFacts {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint64_t begin_event = 0;
  uint64_t end_event = 0;
  uint64_t peak_bytes = 0;
  uint64_t peak_reserved_bytes = 0;
  uint64_t begin_bytes = 0;
  uint64_t end_bytes = 0;
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;  // in all
  uint64_t kept_bytes = 0;       // of its allocations, live when it ended
  uint64_t launches = 0;         // as far as they were counted
};

struct IterationsFacts {
  std::string found_by;                 // as docs/metrics.md has it; "none"
  bool is_sure = false;                 // known from the program's marks or work, not guessed
  std::string mark;                     // the mark's text
  std::string why_not;                  // one sentence if none were found
  bool exact = true;                    // false for a long trace, whose boundaries are approximate
  std::vector<IterationFacts> list;     // all
  uint64_t count = 0;                   // the size of the list
  uint64_t backward_per_iteration = 0;  // the usual number; 0 if unknown
  // The growth, per iteration, of the memory that is live between iterations.
  int64_t growth_bytes = 0;

  // True if the memory that is live between iterations grew so much that it matters. One or two
  // iterations show no growth, because the first one allocates memory that the later ones reuse.
  bool Grows() const {
    constexpr uint64_t kLeast = uint64_t{1} << 20;
    constexpr uint64_t kSmallPart = 1000;
    constexpr size_t kLeastIterations = 3;
    if (growth_bytes <= 0 || list.size() < kLeastIterations) return false;
    const uint64_t grown = static_cast<uint64_t>(growth_bytes) * list.size();
    return grown >= kLeast && grown >= list.back().peak_bytes / kSmallPart;
  }
};

// All work of one kind: start-up, training, evaluation.
struct PhaseFacts {
  std::string name;  // as docs/metrics.md has it
  uint64_t times = 0;
  uint64_t begin_ns = 0;  // of the first
  uint64_t took_ns = 0;   // all together
  uint64_t peak_bytes = 0;
  uint64_t decode_steps = 0;  // of a generation, as far as its caches grew
  bool has_peak = false;      // of the trace
};

// The blocks of one call site that accumulate from iteration to iteration.
struct GrowthFacts {
  std::string site;
  std::string operation;
  uint64_t bytes_per_iteration = 0;
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  uint64_t iterations = 0;  // the number of iterations in which it left blocks behind
};

struct LifetimeFacts {
  bool known = false;
  Amount within;      // freed in the iteration in which they were allocated
  Amount across;      // freed in a later one
  Amount persistent;  // live at the end
  Amount before;      // allocated before the first iteration: the start-up
  uint64_t startup_peak_bytes = 0;
  // The call sites of blocks that were live when the first iteration began.
  std::vector<SiteFacts> startup;
  std::vector<GrowthFacts> growing;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_ITERATION_FACTS_H_
