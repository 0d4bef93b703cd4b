// RunApart: runs a command in a session of its own, with its output in a file, and ends it with all
// of its process group when this process is asked to end.
//
// Ownership: none. Threads: one at a time. Errors: by the result. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_
#define VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_

#include <string>
#include <vector>

namespace vramstow {

// The command's exit status, its output in `log`; 128 and the number of the signal that ended it;
// -1 if it cannot be started (errno says why). EndSignals::taken() says whether it was ended: it
// gets the signal that was taken, then SIGTERM, and SIGKILL if it still runs after ten seconds or
// at a second such signal. Ctrl-Z stops it, too.
int RunApart(const std::vector<std::string>& command, const std::string& log);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_
