// What the analysis explains, as JSON: parts of the object that json.h makes.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: bytes and
// nanoseconds, as the keys' endings say.
#ifndef VRAMSTOW_TOOLS_REPORT_JSON_EXPLAIN_H_
#define VRAMSTOW_TOOLS_REPORT_JSON_EXPLAIN_H_

#include <nlohmann/json_fwd.hpp>

#include "tools/analysis/facts.h"

namespace vramstow {

// `name`: the key of what they are grouped by.
nlohmann::ordered_json SitesJson(const std::vector<SiteFacts>& sites, const char* name = "site");
nlohmann::ordered_json HoleJson(const HoleFacts& hole);
// Adds by_site, by_operation, by_module, by_category, snapshot, iterations, iterations_found,
// lifetimes, churn, cache, before_peak, advice.
void AddExplained(const Facts& facts, nlohmann::ordered_json* json);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_JSON_EXPLAIN_H_
