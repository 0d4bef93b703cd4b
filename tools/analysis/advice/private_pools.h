// PrivatePools: decides whether PyTorch's private pools may belong to captured graphs or to a
// MemPool.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRIVATE_POOLS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRIVATE_POOLS_H_

#include <cstdint>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Says whether CUDA graphs were captured.
enum class Captured : uint8_t { kNo, kYes, kNotKnown };
Captured HasCaptured(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRIVATE_POOLS_H_
