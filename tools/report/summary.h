// Summary: the few lines that `vramstow run` ends with; first of them why memory ran out.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none. Units: written out.
#ifndef VRAMSTOW_TOOLS_REPORT_SUMMARY_H_
#define VRAMSTOW_TOOLS_REPORT_SUMMARY_H_

#include <string>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

inline constexpr size_t kMaxSummaryLines = 10;  // beside those that tell why memory ran out

// Where the traces of a run are.
struct TracePlace {
  std::string directory;
  // `vramstow analyze DIRECTORY` would take other traces, too, or those of another run.
  bool has_others = false;
  size_t unread = 0;             // how many traces of the run could not be read
  std::string command_end = {};  // "the command ended with status 1"; empty: not known
};

// A trace tells why memory ran out where its facts have advice (AnalyzeFile).
std::string RunSummary(const FactSet& set, const TracePlace& place);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_SUMMARY_H_
