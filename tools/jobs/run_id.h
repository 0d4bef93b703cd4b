// Run ids: by which the processes of a job and their traces are known.
//
// Idea: a job gives its command an id of its own, which every trace has as the fact run.id. A job
// inside a job has an id that begins with the outer one's, so that the outer job finds it, too.
//
// Ownership: copies. Threads: one at a time. Errors: none; a process that may not be looked at is
// not found. Units: none.
#ifndef VRAMSTOW_TOOLS_JOBS_RUN_ID_H_
#define VRAMSTOW_TOOLS_JOBS_RUN_ID_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace vramstow {

// A new id; `outer` is that of the job around this one, or null.
std::string NewRunId(const char* outer);
bool BelongsToRun(const std::string& trace_run_id, const std::string& run_id);

struct RunningProcess {
  pid_t process = 0;
  std::string program;
};

// Processes of the job that this user may look at and that still run, as a daemon does. Those that
// are about to end, as helpers of a program that has ended, are given half a second.
std::vector<RunningProcess> FindProcessesOfRun(const std::string& run_id);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_RUN_ID_H_
