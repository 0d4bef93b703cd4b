// SiteFacts: the shares of source lines, and of kinds of memory, in the memory of a program.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_SITE_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_SITE_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/facts/amount.h"

namespace vramstow {

// The share of one call site: a line of the application, or a library and entry point.
struct SiteFacts {
  std::string site;
  std::string operation;  // what ran there; of a driver call: its name
  uint64_t allocations = 0;
  uint64_t total_bytes = 0;
  Amount at_peak;
  Amount at_end;
};

// The purpose of memory, and the evidence for it.
struct CategoryFacts {
  std::string name;
  Amount at_peak;
  std::string evidence;
};

// The share of one call site in memory that grows by the hour.
struct SiteHourFacts {
  std::string site;
  std::string operation;
  std::string category;  // the purpose of most of its memory; empty if unknown
  int64_t bytes_per_hour = 0;
};

struct CategoryHourFacts {
  std::string name;
  int64_t bytes_per_hour = 0;
};

// The growth of memory over a long run: the lowest level in its last quarter minus the lowest level
// in its second quarter.
struct HourFacts {
  bool known = false;       // the run was long enough
  bool is_endless = false;  // the growth continued in the last quarter
  int64_t bytes_per_hour = 0;
  uint64_t from_bytes = 0;
  uint64_t to_bytes = 0;
  uint64_t over_ns = 0;
  std::vector<SiteHourFacts> by_site;
  std::vector<CategoryHourFacts> by_category;
};

// The bytes that one call site gained (or lost) within a span of time.
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
