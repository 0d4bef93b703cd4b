// UsesLowerPrecision: true if call stacks or operators show autocast, or a conversion to 16 bits.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRECISION_USE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRECISION_USE_H_

#include "tools/analysis/facts/detail.h"

namespace vramstow {

bool UsesLowerPrecision(const Detail& detail);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_PRECISION_USE_H_
