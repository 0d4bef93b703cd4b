// ParameterSites: decides which call sites may have allocated parameters, and which blocks count as
// parameters.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SITES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SITES_H_

#include <cstdint>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Parameters of fewer bytes are ignored, because many other blocks have the same sizes.
inline constexpr uint64_t kLeastParameter = 64 << 10;

// True if the program's own line made the block, outside of any module, backward pass or optimizer
// step.
bool MayBeParameter(const SiteDetail& site);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PARAMETER_SITES_H_
