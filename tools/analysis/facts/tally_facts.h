// TallyFacts: how often each call was made, and the memory of each library and entry point.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_TALLY_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_TALLY_FACTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/facts/amount.h"

namespace vramstow {

// The share of one library, one kind of memory or one entry point.
struct TallyFacts {
  std::string name;          // of a library: the last part of its path
  std::string path;          // of a library
  uint64_t calls = 0;        // events of any kind
  uint64_t allocations = 0;  // successful
  // The number of successful frees. A free is counted for the call that freed the block, not for
  // the call that allocated it.
  uint64_t frees = 0;
  uint64_t failed = 0;       // calls that the driver refused
  uint64_t total_bytes = 0;  // of all allocations over the whole time
  // The device memory that this library, kind of memory or entry point allocated.
  Amount at_peak;              // live at the moment of the process's peak
  Amount at_end;               // live at the end of the trace
  uint64_t highest_bytes = 0;  // its own highest level, whenever that was
  Amount other_at_end;         // live host and managed memory at the end
  uint64_t other_highest_bytes = 0;
};

struct Counts {
  uint64_t allocations = 0;         // calls that gave memory of any kind
  uint64_t frees = 0;               // calls that freed memory
  uint64_t out_of_memory = 0;       // requests for which memory ran out, as the program saw it
  uint64_t failed_allocations = 0;  // allocations that failed, for whatever reason
  uint64_t handled_failures = 0;    // of these, requests that were retried or not needed
  uint64_t refused_frees = 0;       // frees that the driver refused
  uint64_t frees_of_unseen = 0;     // frees of blocks whose allocation is not in the trace
  uint64_t frees_missed = 0;        // blocks whose address was allocated again without a free
  // The number of blocks that ended when their context was destroyed, without a free.
  uint64_t freed_with_context = 0;
  uint64_t unmatched_refusals = 0;      // refusals of frees that are not in the trace
  uint64_t other_layers = 0;            // events of layers that this version does not know
  std::array<uint64_t, 256> by_kind{};  // events by EventKind
};

struct LaunchedFacts {
  std::string name;  // of a kernel or a range
  uint64_t launches = 0;
};

// The kernel launches, as the option --launches counts them; 0 if none were counted.
struct LaunchesFacts {
  uint64_t launches = 0;
  bool sampled = false;                  // each event stands for several launches
  std::vector<LaunchedFacts> by_kernel;  // largest first
  std::vector<LaunchedFacts> by_range;   // the innermost in which they were launched
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_TALLY_FACTS_H_
