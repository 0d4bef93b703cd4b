// FactNames: facts by the path that they have in the JSON ("peak.allocated_bytes"), as the tables
// of facts list them.
//
// Ownership: constants. Threads: pure functions. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_NAMES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// The path of a short name ("peak_allocated"); `name` itself where it is none.
std::string PathOfFact(const std::string& name);

// The short names.
std::vector<std::string> ShortNamesOfFacts();

// The paths of facts that are compared without being asked for, in that order. More is worse.
const std::vector<std::string>& ComparedFacts();

// The peaks that the report lists one below the other, with their names there.
std::vector<std::pair<std::string_view, uint64_t>> ListedPeaks(const Peak& peak);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_NAMES_H_
