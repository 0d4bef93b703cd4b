// AnalyzeInput: from a path to what is known of it, whatever of the known kinds it is.
//
// Ownership: results are the caller's. Threads: no shared state. Errors: one sentence that names
// the file, what is wrong with it and what to do. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_INPUTS_ANALYZE_INPUT_H_
#define VRAMSTOW_TOOLS_INPUTS_ANALYZE_INPUT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/pass/event_source.h"

namespace vramstow {

// Lets Progress know that a file is being read, one of several. AnalyzePaths does so itself.
void BeginReading(const std::string& path, size_t number = 0, size_t count = 1);

// Events of a file. Not of a memory timeline, which has none.
absl::StatusOr<std::unique_ptr<EventSource>> OpenEvents(const std::string& path);

// The path itself, or of a folder the files in it, by name.
std::vector<std::string> FilesOf(const std::string& path);

// `within`: only what lies in ranges (marks) of this name; "" for all of it.
absl::StatusOr<Analysis> AnalyzeFile(const std::string& path, const std::string& within = "");

// Of several paths: files, and folders, of which all files that are of a known kind are taken.
struct InputSet {
  std::vector<Analysis> analyses;
  std::vector<std::string> left_out;  // files of folders that could not be used, one sentence each
};
// An error: a named file cannot be used, or a folder has nothing that can.
absl::StatusOr<InputSet> AnalyzePaths(const std::vector<std::string>& paths,
                                      const std::string& within = "");

// The facts of each and of all together. At least one analysis.
FactSet Together(InputSet inputs);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_ANALYZE_INPUT_H_
