// One folder for the traces of all ranks of a job: "%j" in --trace-dir.
//
// Idea: each rank may have a `vramstow run` of its own, so they find the same name each by itself,
// in what their launcher tells all of them, and whoever comes first makes the folder.
//
// Ownership: values. Threads: one at a time. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_JOB_FOLDER_H_
#define VRAMSTOW_TOOLS_LAUNCH_JOB_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

struct JobFolder {
  std::string parent;  // what was asked for, if there is no %j in it
  std::string name;    // below it, to be made; empty: there is no %j
};

// Takes "traces/job-%j" apart. A rank whose job nobody names is refused; a run that is no rank is a
// job of its own.
absl::StatusOr<JobFolder> FindJobFolder(const std::string& directory);

// Makes the folder, unless it is there already; *directory becomes it.
absl::Status MakeJobFolder(const JobFolder& folder, std::string* directory);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_JOB_FOLDER_H_
