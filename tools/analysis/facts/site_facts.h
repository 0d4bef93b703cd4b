// SiteFacts: what lines of the program, and kinds of memory, had to do with it.
//
// Ownership: plain values. Threads: values. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_SITE_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_SITE_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/facts/amount.h"

namespace vramstow {

// The part of one call site in it: a line of the application, or a library and entry point.
struct SiteFacts {
  std::string site;
  std::string operation;  // what ran there; of a driver call: its name
  uint64_t allocations = 0;
  uint64_t total_bytes = 0;
  Amount at_peak;
  Amount at_end;
};

// The purpose of memory, and how that is known.
struct CategoryFacts {
  std::string name;
  Amount at_peak;
  std::string evidence;
};

// The bytes that one site gained (or lost) within a span of time.
struct ChangeFacts {
  std::string site;
  std::string operation;
  int64_t bytes = 0;
  uint64_t allocations = 0;
};

struct BeforePeakFacts {
  bool known = false;
  uint64_t from_ns = 0;
  uint64_t from_bytes = 0;
  std::vector<ChangeFacts> changes;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_SITE_FACTS_H_
