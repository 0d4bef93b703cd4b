// RunId: identifies the processes of a job and their traces.
//
// Idea: a job gives its command an id, which every trace has as the fact run.id. If a job starts
// another job, the id of the inner job begins with the id of the outer one. So the outer job finds
// the traces of the inner job, too.
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: none; a process
// whose environment cannot be read is not found. Units: none.
#ifndef VRAMSTOW_TOOLS_JOBS_RUN_ID_H_
#define VRAMSTOW_TOOLS_JOBS_RUN_ID_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace vramstow {

// Returns a new id. `outer` is the id of the job that started this one, or null if there is none.
std::string NewRunId(const char* outer);
bool BelongsToRun(const std::string& trace_run_id, const std::string& run_id);

struct RunningProcess {
  pid_t process = 0;
  std::string program;
};

// Returns the processes of the job that still run, for example a daemon. Processes that are about
// to end get half a second to do so.
std::vector<RunningProcess> FindProcessesOfRun(const std::string& run_id);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_JOBS_RUN_ID_H_
