// PageClock: what the page draws of the iteration that takes the median time by the simulated
// card's own clock: where bytes were, and what went over the link.
//
// Ownership: the result is the caller's. Threads: a pure function. Errors: none. Units: nanoseconds
// since the iteration began, bytes.
#ifndef VRAMSTOW_TOOLS_REPORT_PAGE_CLOCK_H_
#define VRAMSTOW_TOOLS_REPORT_PAGE_CLOCK_H_

#include <string>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

// An object of JSON with a column for each figure; "null" where there is no such iteration.
std::string ClockText(const Detail& detail, const ModelClockFacts& clock);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_PAGE_CLOCK_H_
