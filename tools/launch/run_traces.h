// RunTraces: finds the traces that a run left, and their facts.
//
// Idea: a run gives its command an id of its own, which every trace has as the fact run.id. A run
// inside a run has an id that begins with the outer one's, so that the outer run finds it, too.
//
// Ownership: copies. Threads: one at a time. Errors: what cannot be read is counted. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RUN_TRACES_H_
#define VRAMSTOW_TOOLS_LAUNCH_RUN_TRACES_H_

#include <sys/types.h>

#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

// A new id; `outer` is that of the run around this one, or null.
std::string NewRunId(const char* outer);
bool BelongsToRun(const std::string& trace_run_id, const std::string& run_id);

struct RunTraces {
  std::vector<Facts> facts;
  size_t unread = 0;     // files newer than the run's beginning that are no readable trace
  bool stopped = false;  // stop() said so; facts is not complete
};

struct RunningProcess {
  pid_t process = 0;
  std::string program;
};

// Processes of the run that this user may look at and that still run, as a daemon does. Those that
// are about to end, as helpers of a program that has ended, are given half a second.
std::vector<RunningProcess> FindProcessesOfRun(const std::string& run_id);

// Looks through the .stow files of `directory` that may have been written since `begin`. `stop` is
// asked again and again; once it gives true, the rest is left.
RunTraces FindRunTraces(const std::string& directory, const std::string& run_id, time_t begin,
                        const std::function<bool()>& stop);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_TRACES_H_
