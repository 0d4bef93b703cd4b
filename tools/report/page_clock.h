// PageClock: the data for the page's picture of one iteration, the one with the median time by the
// simulated GPU's own clock. The data are where memory was, and the bytes that went over PCIe or
// NVLink.
//
// Ownership: the caller owns the result. Threads: a pure function, callable from any thread.
// Errors: none. Units: nanoseconds since the iteration began, bytes.
#ifndef VRAMSTOW_TOOLS_REPORT_PAGE_CLOCK_H_
#define VRAMSTOW_TOOLS_REPORT_PAGE_CLOCK_H_

#include <string>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Returns a JSON object with a column for each figure; "null" if there is no such iteration.
std::string ClockText(const Detail& detail, const ModelClockFacts& clock);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_PAGE_CLOCK_H_
