// PageData: the data for the pictures of the page, as JSON in columns.
//
// Idea: a column of numbers that mostly grow is written as differences, which are short. If a trace
// is long, the least important lives are left out, and the page says how many (html.h).
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: bytes, nanoseconds, events.
#ifndef VRAMSTOW_TOOLS_REPORT_PAGE_DATA_H_
#define VRAMSTOW_TOOLS_REPORT_PAGE_DATA_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/analysis/facts/detail.h"
#include "tools/report/source_lines.h"

namespace vramstow {

// The data of one process that the page shows in addition to the facts.
struct PageSource {
  const Detail* detail = nullptr;
  std::vector<SourceLines> lines;
};

// `shares` is the number of processes that share the page's limits.
std::string PageData(const Facts& facts, const PageSource& source, size_t shares);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_PAGE_DATA_H_
