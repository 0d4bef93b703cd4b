// Html: facts and what they rest on as one page that needs nothing else: no network, no other file.
//
// Idea: the page holds the same JSON as `vramstow analyze --json`, and in columns what its pictures
// need: levels, lives, segments. If a trace is long, the lives that matter least are left out (and
// the page says how many), so that the page stays below kMaxPageBytes whatever the trace.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: bytes,
// nanoseconds, events.
#ifndef VRAMSTOW_TOOLS_REPORT_HTML_H_
#define VRAMSTOW_TOOLS_REPORT_HTML_H_

#include <string>
#include <vector>

#include "tools/analysis/facts/facts.h"
#include "tools/report/page_data.h"

namespace vramstow {

inline constexpr uint64_t kMaxPageBytes = 20000000;

// `sources`: one for each of set.traces, in their order.
std::string HtmlReport(const FactSet& set, const std::vector<PageSource>& sources);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_HTML_H_
