// Chart: draws a timeline as lines of text.
//
// Each column shows the highest memory within its span of time, so no peak is lost in a narrow
// chart.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: bytes, nanoseconds; columns and lines of a terminal.
#ifndef VRAMSTOW_TOOLS_REPORT_CHART_H_
#define VRAMSTOW_TOOLS_REPORT_CHART_H_

#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

struct ChartStyle {
  size_t width = 80;
  size_t height = 8;
  bool utf8 = true;  // false for plain ASCII
};

// Returns a chart of the allocated device memory over the time of the trace, with axes. Empty if
// there was none.
std::string Chart(const TimelineFacts& timeline, uint64_t end_ns, const ChartStyle& style);

// Returns a bar of at most `width` columns for part ÷ whole. It is empty only if part is 0.
std::string Bar(uint64_t part, uint64_t whole, size_t width, bool utf8);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_CHART_H_
