// The folder for traces: made where it is not there, and with "%j" in --trace-dir one for all ranks
// of a job.
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
  std::string parent;  // what is there already; empty: nothing was asked for
  std::string name;    // below it, to be made, perhaps with folders on the way; empty: nothing
};

// Takes "traces/job-%j" apart; nothing is made. A rank whose job nobody names is refused; a run
// that is no rank is a job of its own.
absl::StatusOr<JobFolder> FindJobFolder(const std::string& directory);

// Makes the folder below *directory, which is the parent; *directory becomes it.
absl::Status MakeJobFolder(const JobFolder& folder, std::string* directory);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_JOB_FOLDER_H_
