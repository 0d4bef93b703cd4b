// FactNames: looks facts up by their path in the JSON ("peak.allocated_bytes"), as the tables of
// facts list them.
//
// Ownership: constants. Threads: pure functions, callable from any thread. Errors: none. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_NAMES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Returns the path of a short name ("peak_allocated"). Returns `name` itself if it is not a short
// name.
std::string PathOfFact(const std::string& name);

// Returns all short names.
std::vector<std::string> ShortNamesOfFacts();

// Returns the paths of the facts that are compared by default, in the order of comparison. A larger
// value counts as worse.
const std::vector<std::string>& ComparedFacts();

// Returns the peaks that the report lists, each with its name in the report.
std::vector<std::pair<std::string_view, uint64_t>> ListedPeaks(const Peak& peak);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_NAMES_H_
