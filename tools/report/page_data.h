// PageData: what the pictures of the page are drawn from, as JSON in columns.
//
// Idea: a column of numbers that mostly grow is written as differences, which are short. If a trace
// is long, the lives that matter least are left out, and counted: see html.h.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: bytes,
// nanoseconds, events.
#ifndef VRAMSTOW_TOOLS_REPORT_PAGE_DATA_H_
#define VRAMSTOW_TOOLS_REPORT_PAGE_DATA_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/analysis/facts/detail.h"
#include "tools/report/source_lines.h"

namespace vramstow {

// What one process's part of the page is made from, beside its facts.
struct PageSource {
  const Detail* detail = nullptr;
  std::vector<SourceLines> lines;
};

// `shares`: how many processes share the room of the page.
std::string PageData(const Facts& facts, const PageSource& source, size_t shares);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_PAGE_DATA_H_
