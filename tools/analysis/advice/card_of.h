// RatesOfCard: the speed of the simulated GPU of a trace.
//
// Ownership: constants. Threads: pure functions, callable from any thread. Errors: returns null if
// the trace is not of a simulated run, or its GPU has no rates.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CARD_OF_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CARD_OF_H_

#include "base/card_rates.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

const CardRates* RatesOfCard(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CARD_OF_H_
