// ParameterSites: which call sites may have made parameters, and which blocks count.
//
// Ownership: none. Threads: pure functions. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SITES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SITES_H_

#include <cstdint>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

inline constexpr uint64_t kLeastParameter = 64 << 10;  // smaller ones are too many to tell apart

// Made by the program's own line, outside of any module, pass or step.
bool MayBeParameter(const SiteDetail& site);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SITES_H_
