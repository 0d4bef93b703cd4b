// JobFolder: the folder for traces, which is made if it does not exist. If --trace-dir contains
// "%j", all ranks of a job use the same folder.
//
// Idea: each rank may have a `vramstow run` of its own. Each of them derives the same name from
// variables that the launcher sets for all ranks, and the first one makes the folder.
//
// Ownership: plain values. Threads: used by one thread at a time. Errors: one sentence. Units:
// none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_JOB_FOLDER_H_
#define VRAMSTOW_TOOLS_LAUNCH_JOB_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

struct JobFolder {
  std::string parent;  // the existing part; empty if no folder was requested
  std::string name;    // the part to be made below it; empty if nothing
};

// Parses a path like "traces/job-%j", and makes no folder. Fails for a rank whose job has no id. A
// run that is not a rank counts as a job of its own.
absl::StatusOr<JobFolder> FindJobFolder(const std::string& directory);

// Makes the folder below the parent *directory, and sets *directory to it.
absl::Status MakeJobFolder(const JobFolder& folder, std::string* directory);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_JOB_FOLDER_H_
