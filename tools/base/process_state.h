// The state of another process, as /proc shows it.
//
// Ownership: none. Threads: any. Errors: 0. Units: nanoseconds since 1970.
#ifndef VRAMSTOW_TOOLS_BASE_PROCESS_STATE_H_
#define VRAMSTOW_TOOLS_BASE_PROCESS_STATE_H_

#include <sys/types.h>

#include <cstdint>

namespace vramstow {

// Returns the letter of the process's state in /proc/PID/stat (proc(5)): Z and X if it has ended, T
// and t if a signal or a debugger has stopped it. Returns 0 if the state cannot be read.
char StateOfProcess(pid_t process);

// Returns true if there is no such process, or only its exit status is left.
bool HasEnded(pid_t process);

// Returns when the process started, as the fact process.start_time of a trace says it. Returns 0 if
// the time cannot be read.
int64_t StartOfProcess(pid_t process);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_PROCESS_STATE_H_
