// JobFolder: the folder for traces, which is made if it does not exist. With "%j" in --trace-dir it
// is one folder for all ranks of a job.
//
// Idea: each rank may have a `vramstow run` of its own, so each derives the same name from the
// variables that their launcher sets for all of them, and the first one makes the folder.
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

// Parses "traces/job-%j"; makes nothing. Fails for a rank whose job has no id; a run that is no
// rank is a job of its own.
absl::StatusOr<JobFolder> FindJobFolder(const std::string& directory);

// Makes the folder below the parent *directory, and sets *directory to it.
absl::Status MakeJobFolder(const JobFolder& folder, std::string* directory);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_JOB_FOLDER_H_
