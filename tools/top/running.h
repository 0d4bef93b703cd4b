// Running: tells which of the traces that were not closed belong to processes that still run.
//
// Idea: an open trace alone does not say so. Its process may have been killed, and its process id
// may be that of another process now; or the process has executed another program, which writes
// another trace.
//
// Ownership: none. Threads: any. Errors: what /proc does not show is not compared. Units: none.
#ifndef VRAMSTOW_TOOLS_TOP_RUNNING_H_
#define VRAMSTOW_TOOLS_TOP_RUNNING_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "tools/top/top_view.h"

namespace vramstow {

// Returns true if the process exists, and does not only wait until its parent reads its exit
// status.
bool IsRunning(pid_t process);

// Returns the state of the process that wrote the trace, as far as it can be known here.
TopState StateOf(const TopProcess& process);

// Returns true if the file was changed in the last two minutes.
bool WasWrittenLately(const std::string& file);

// Returns the name of the program that wrote this trace. The name of a trace, for example
// "train-1125-2303-rank2-4711.stow", begins with the name of the script or module.
std::string ProgramOf(const Facts& facts, const std::string& file);

// Programs that a process replaced by another one (exec) have ended, although the process runs, or
// was killed later.
void EndReplacedPrograms(std::vector<TopProcess>* processes);

// Of several running processes with the same process id, only the one whose trace was written last
// runs.
void LeaveNewest(std::vector<TopProcess>* processes);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_RUNNING_H_
