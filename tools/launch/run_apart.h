// RunApart: runs a command in a session of its own, with its output in a file, and ends it with all
// of its process group when this process is asked to end.
//
// Ownership: none. Threads: the main one; others have to block signals. Errors: told in ChildEnd.
// Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_
#define VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_

#include <string>
#include <vector>

#include "tools/launch/child.h"
#include "tools/launch/environment.h"

namespace vramstow {

// Runs `command` once in each environment, all at the same time, as RunChildren does; what they
// write is appended to the file `output`. EndSignals::taken() says whether they were ended: they
// get the signal that was taken, then SIGTERM, and SIGKILL if they still run after ten seconds or
// at a second such signal. Ctrl-Z stops them, too. A signal that came before keeps them from being
// started: then there is no end.
std::vector<ChildEnd> RunApart(const std::vector<std::string>& command,
                               std::vector<Environment>* environments, const std::string& output);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_
