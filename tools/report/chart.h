// Chart: a timeline as lines of text.
//
// Each column is as high as memory was at its highest within that column's time: no peak is lost by
// making the picture narrow.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: bytes,
// nanoseconds, columns and lines of a terminal.
#ifndef VRAMSTOW_TOOLS_REPORT_CHART_H_
#define VRAMSTOW_TOOLS_REPORT_CHART_H_

#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

struct ChartStyle {
  size_t width = 80;
  size_t height = 8;
  bool utf8 = true;  // false: plain ASCII
};

// Allocated device memory over the time of the trace, with axes. Empty where there was none.
std::string Chart(const TimelineFacts& timeline, uint64_t end_ns, const ChartStyle& style);

// A bar of at most `width` columns for part ÷ whole; not empty unless part is 0.
std::string Bar(uint64_t part, uint64_t whole, size_t width, bool utf8);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_CHART_H_
