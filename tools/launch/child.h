// Child: runs a command as if this program were the command.
//
// Idea: the command runs in the same process group with the same standard streams. Signals that the
// terminal sends go to the whole group, and so to the command itself. Signals that are sent to this
// process alone are passed on to the command. When the command stops, this process stops, too. When
// this process is continued, it continues the command.
//
// Ownership: none. Threads: for RunChildren the caller's process must have one thread. Errors:
// reported in ChildEnd. Signals: from RunChildren on, all signals that can be passed on are blocked
// in this process, even after it returned, so that only SIGKILL keeps it from ending as the command
// did.
#ifndef VRAMSTOW_TOOLS_LAUNCH_CHILD_H_
#define VRAMSTOW_TOOLS_LAUNCH_CHILD_H_

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "tools/launch/environment.h"

namespace vramstow {

struct ChildEnd {
  enum class How {
    kExited,      // with exit status `value`
    kKilled,      // by signal `value`
    kNotStarted,  // `value` is the errno of exec
    kNoProcess,   // `value` is the errno of fork or pipe
  };
  How how = How::kNoProcess;
  int value = 0;
};

// Returns the exit status as shells report it: 128 plus the number of the signal, 127 if there is
// no such command, and 126 if it cannot be executed.
int ExitStatusOf(const ChildEnd& end, const std::string& command);
// Returns one sentence if the command could not be started, and an empty text otherwise.
std::string WhyNotStarted(const ChildEnd& end, const std::string& command);

// True if the command names a file that exists, or PATH has a file of this name.
bool IsCommandThere(const std::string& command);

// A child process. If exec failed, `end` is set before the process has ended.
struct Child {
  pid_t pid = -1;
  bool running = false;
  ChildEnd end;
};

// The state in which a child starts, in addition to its arguments and its environment.
struct ChildStart {
  sigset_t mask = {};
  struct sigaction child_action = {};  // for SIGCHLD
  // A file for standard output and standard error, or a negative number. With a file, the child has
  // a session of its own, and SIGINT ends it unless it handles the signal.
  int output = -1;
};
Child StartChild(const std::vector<std::string>& command, Environment* environment,
                 const ChildStart& start);

// Runs `command` once in each environment, all at the same time, and waits until all have ended.
// There must be a command and at least one environment. Returns the ends in the order of the
// environments. If one command cannot be started, the later ones are not started.
std::vector<ChildEnd> RunChildren(const std::vector<std::string>& command,
                                  std::vector<Environment>* environments);

// True if this process was asked to end (SIGINT, SIGTERM, …) since RunChildren returned. A signal
// that the same process sends again within five seconds is the same request.
bool IsAskedToEnd();

// Ends this process in the same way as the command ended, without a core dump of its own. `end`
// must be kExited or kKilled.
[[noreturn]] void EndAs(const ChildEnd& end);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_CHILD_H_
