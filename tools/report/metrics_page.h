// MetricsPage: the part of docs/metrics.md that lists every fact, made from the tables of facts.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_
#define VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_

#include <string>

namespace vramstow {

// Markdown, from the line that says that it is made to the end of the page.
std::string MetricsTables();

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_METRICS_PAGE_H_
