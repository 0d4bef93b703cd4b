// RatesOfCard: how fast the simulated card of a trace is.
//
// Ownership: constants. Threads: pure. Errors: null where the trace is of no rehearsal, and for a
// card without rates.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CARD_OF_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CARD_OF_H_

#include "base/card_rates.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

const CardRates* RatesOfCard(const Facts& facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CARD_OF_H_
