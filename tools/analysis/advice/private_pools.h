// PrivatePools: whose private pools of PyTorch's there may be: of captured graphs, or of MemPool.
//
// Ownership: none. Threads: pure functions. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRIVATE_POOLS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRIVATE_POOLS_H_

#include <cstdint>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Whether CUDA graphs were captured.
enum class Captured : uint8_t { kNo, kYes, kNotKnown };
Captured HasCaptured(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRIVATE_POOLS_H_
