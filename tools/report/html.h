// Html: writes facts and their detail as one self-contained page, which needs neither network nor
// other files.
//
// Idea: the page holds the same JSON as `vramstow analyze --json`, and the data of its pictures in
// columns: levels, lives, segments. If a trace is long, the least important lives are left out, and
// the page says how many. So the page is smaller than kMaxPageBytes for any trace.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: bytes, nanoseconds, events.
#ifndef VRAMSTOW_TOOLS_REPORT_HTML_H_
#define VRAMSTOW_TOOLS_REPORT_HTML_H_

#include <string>
#include <vector>

#include "tools/analysis/facts/facts.h"
#include "tools/report/page_data.h"

namespace vramstow {

inline constexpr uint64_t kMaxPageBytes = 20000000;

// Returns the page. `sources` has one element for each of set.traces, in the same order.
std::string HtmlReport(const FactSet& set, const std::vector<PageSource>& sources);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_HTML_H_
