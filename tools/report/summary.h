// Summary: the last lines that `vramstow run` prints. The first of these lines say why memory ran
// out.
//
// Ownership: the caller owns the results. Threads: pure functions, callable from any thread.
// Errors: none. Units: written in the text.
#ifndef VRAMSTOW_TOOLS_REPORT_SUMMARY_H_
#define VRAMSTOW_TOOLS_REPORT_SUMMARY_H_

#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// The largest number of lines, not counting those that say why memory ran out.
inline constexpr size_t kMaxSummaryLines = 10;

// The location of a run's traces.
struct TracePlace {
  std::string directory;
  // True if `vramstow analyze DIRECTORY` would read other traces than those of this run.
  bool has_others = false;
  size_t unread = 0;             // how many traces of the run could not be read
  std::string command_end = {};  // "the command ended with status 1"; empty if unknown
};

// Returns the lines. An out-of-memory is explained if the facts of its trace have advice
// (AnalyzeFile).
std::string RunSummary(const FactSet& set, const TracePlace& place);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_SUMMARY_H_
