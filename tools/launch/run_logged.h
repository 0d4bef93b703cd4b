// RunLogged: runs a command with its output in a file.
//
// Ownership: none. Threads: used by one thread at a time. Errors: reported by the result. Units:
// none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RUN_LOGGED_H_
#define VRAMSTOW_TOOLS_LAUNCH_RUN_LOGGED_H_

#include <string>
#include <vector>

namespace vramstow {

// Returns the command's exit status, with its output in `log`; 128 plus the number of the signal
// that ended it; -1 if it cannot be started (errno says why). The command is searched on the path
// unless it has a slash.
int RunLogged(const std::vector<std::string>& command, const std::string& log);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_LOGGED_H_
