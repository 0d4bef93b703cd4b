// AnalysisOutput: prints the analysis of files, for `analyze` and `attach --for`.
//
// Ownership: none. Threads: the main thread only. Errors: by the exit status, after one sentence.
// Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_ANALYSIS_OUTPUT_H_
#define VRAMSTOW_TOOLS_COMMANDS_ANALYSIS_OUTPUT_H_

#include <string>
#include <vector>

namespace vramstow {

struct AnalysisOutput {
  std::string within = {};  // if not empty, only events in ranges of this name
  bool redact = false;
  bool full = false;  // every section, not only what fits on one screen
  bool json = false;
};
// Analyses the files and prints their facts as the result of `command`. Returns the exit status.
int PrintAnalysis(const std::string& command, const std::vector<std::string>& files,
                  const AnalysisOutput& output);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_ANALYSIS_OUTPUT_H_
