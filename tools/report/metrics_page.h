// MetricsPage: makes the part of docs/metrics.md that lists every fact, from the tables of facts.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_
#define VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_

#include <string>

namespace vramstow {

// Returns Markdown, from the line that says that the tables are generated to the end of the page.
std::string MetricsTables();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_
