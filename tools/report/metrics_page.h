// MetricsPage: makes the part of docs/metrics.md that lists every fact, from the tables of facts.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_
#define VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_

#include <string>

namespace vramstow {

// Returns the last part of the page, in Markdown. It begins with the line that says that the tables
// below it are generated.
std::string MetricsTables();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_
