// Analyze: from paths to all that is known of them: read, analysed, explained, proved.
//
// Idea: the one place that knows the order of the rooms. A file becomes events (tools/inputs),
// events become facts and detail (analysis/accounts), detail tells why (analysis/explain) and what
// to do (analysis/advice), and a replay proves it (tools/replay).
//
// Ownership: results are the caller's. Threads: no shared state. Errors: one sentence that names
// the file, what is wrong with it and what to do. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_PIPELINE_ANALYZE_H_
#define VRAMSTOW_TOOLS_PIPELINE_ANALYZE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Does what follows the pass over the events: explains, advises, proves, and puts advice in order.
void ExplainAndProve(Analysis* analysis);

// `within`: only what lies in ranges (marks) of this name; "" for all of it.
absl::StatusOr<Analysis> AnalyzeFile(const std::string& path, const std::string& within = "");

// The facts of a file with iterations and what rests on them, without advice.
absl::StatusOr<Facts> ExplainFile(const std::string& path);

// Analyses several paths: files, and folders, of which the files of the newest run are taken
// (tools/inputs/runs.h).
struct InputSet {
  std::vector<Analysis> analyses;
  std::vector<std::string> left_out;  // what of folders is not in it, one sentence each
};
// An error: a named file cannot be used, or a folder has nothing that can.
absl::StatusOr<InputSet> AnalyzePaths(const std::vector<std::string>& paths,
                                      const std::string& within = "");

// The facts of each and of all together. At least one analysis.
FactSet Together(InputSet inputs);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PIPELINE_ANALYZE_H_
