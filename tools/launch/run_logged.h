// RunLogged: runs a command with its output in a file.
//
// Ownership: none. Threads: used by one thread at a time. Errors: reported by the result. Units:
// none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RUN_LOGGED_H_
#define VRAMSTOW_TOOLS_LAUNCH_RUN_LOGGED_H_

#include <string>
#include <vector>

namespace vramstow {

// Runs the command with its output in `log`, and returns its exit status. If a signal ended it,
// returns 128 plus the number of the signal. If it cannot be started, returns -1, and errno says
// why. The command is searched on the path unless it has a slash.
int RunLogged(const std::vector<std::string>& command, const std::string& log);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_LOGGED_H_
