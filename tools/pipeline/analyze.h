// Analyze: reads, analyses and explains the files at given paths, and proves advice by a replay.
//
// Idea: only this file knows the order of the steps. A file becomes events (tools/inputs), events
// become facts and a `Detail` (analysis/accounts), the `Detail` gives reasons (analysis/explain)
// and advice (analysis/advice), and a replay proves the advice (tools/replay).
//
// Ownership: the caller owns the results. Threads: no shared state. Errors: one sentence that names
// the file, what is wrong with it and what to do. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_PIPELINE_ANALYZE_H_
#define VRAMSTOW_TOOLS_PIPELINE_ANALYZE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/facts/detail.h"
#include "tools/inputs/stacked_source.h"

namespace vramstow {

// Runs the steps that follow after the events were read: explains the facts, finds advice, proves
// it by replays, and orders it.
void ExplainAndProve(Analysis* analysis);

// Returns the facts together with the iterations and all that is computed from iterations, but
// without advice.
Facts ExplainWithoutAdvice(const Analysis& analysis);

// In the advice of each analysis, names those processes of the other analyses that held memory of
// the same GPU when memory ran out.
void NameNeighboursOf(std::vector<Analysis>* analyses);

// Reads and analyses a file. If `within` is not empty, only events in ranges (marks) of this name
// are analysed.
absl::StatusOr<Analysis> AnalyzeFile(const std::string& path, const std::string& within = "",
                                     NameLookup lookup = NameLookup::kAllLibraries);

// The analyses of several paths. A path is a file or a folder. A folder stands for the files of its
// newest run (tools/inputs/runs.h). A file that is named twice, and a copy of a named trace, are
// left out.
struct InputSet {
  std::vector<Analysis> analyses;
  std::vector<std::string> left_out;  // what was skipped, one sentence each
  // Traces (.stow) of folders that cannot be read, one sentence each. They are in left_out, too.
  std::vector<std::string> not_read;
};
// Fails if a file that was named cannot be used, or if no file in a folder can be used.
absl::StatusOr<InputSet> AnalyzePaths(const std::vector<std::string>& paths,
                                      const std::string& within = "",
                                      NameLookup lookup = NameLookup::kAllLibraries);

// Returns the facts of each analysis, and the facts of all analyses together. There must be at
// least one analysis.
FactSet Together(InputSet inputs);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PIPELINE_ANALYZE_H_
