// RunApart: runs a command in a session of its own, with its output in a file, and ends it with all
// of its process group when this process is asked to end.
//
// Ownership: none. Threads: the main thread only; other threads must block signals. Errors:
// reported in ChildEnd. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_
#define VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_

#include <string>
#include <vector>

#include "tools/launch/child.h"
#include "tools/launch/environment.h"

namespace vramstow {

// Runs `command` once in each environment, all at the same time, as RunChildren does. Their output
// is appended to the file `output`. If this process is asked to end, each command gets the same
// signal, and SIGTERM after some seconds. A command that still runs after ten seconds, or at a
// second such signal, gets SIGKILL. EndSignals::taken() returns the signal. Ctrl-Z stops the
// commands, too. If this process was asked to end before the call, starts no command and returns an
// empty list.
std::vector<ChildEnd> RunApart(const std::vector<std::string>& command,
                               std::vector<Environment>* environments, const std::string& output);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_
