// RunApart: runs commands, each in a session of its own with its output in a file, and ends them
// with all of their process groups when this process is asked to end.
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

struct ApartCommand {
  std::vector<std::string> command;
  Environment environment;
  std::string output;  // the file to which standard output and standard error are appended
};

// Runs all commands at the same time and waits until all have ended. Returns their ends in the same
// order. If one command cannot be started, the later ones are not started. If this process is asked
// to end, each command gets the same signal, and SIGTERM after some seconds. A command that still
// runs after ten seconds, or at a second such signal, gets SIGKILL. EndSignals::taken() returns the
// signal. Ctrl-Z stops the commands, too. If this process was asked to end before the call, starts
// no command and returns an empty list.
std::vector<ChildEnd> RunApart(std::vector<ApartCommand> commands);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_APART_H_
