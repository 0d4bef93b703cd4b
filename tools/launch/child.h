// Child: runs a command in place of this program, as far as anybody can see.
//
// Idea: the command runs in the same process group with the same standard streams. Signals that the
// terminal sends go to the whole group and so to the command itself; what somebody sends to this
// process alone is passed on. When the command stops, this process stops; when it is continued, so
// is the command.
//
// Ownership: none. Threads: for RunChildren the caller's process must have one thread. Errors: told
// in ChildEnd.
// Signals: all that can be passed on are blocked in this process from RunChild on, also after it
// returned, so that nothing but SIGKILL keeps it from ending as the command did.
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

// The end as an exit status, as shells have it: 128 and the number of the signal; 127 where there
// is no such command, and 126 where it cannot be executed.
int ExitStatusOf(const ChildEnd& end, const std::string& command);
// Why a command could not be started, in one sentence; empty if it was.
std::string WhyNotStarted(const ChildEnd& end, const std::string& command);

// A child that was started and, where exec failed, has ended.
struct Child {
  pid_t pid = -1;
  bool running = false;
  ChildEnd end;
};

// What a child gets beside its arguments and its environment.
struct ChildStart {
  sigset_t mask = {};
  struct sigaction child_action = {};  // for SIGCHLD
  // At least 0: the file that its standard output and standard error go to. Then it also gets a
  // session of its own and dies of SIGINT, unless it handles that.
  int output = -1;
};
Child StartChild(const std::vector<std::string>& command, Environment* environment,
                 const ChildStart& start);

// Runs `command` (not empty) once in each environment (at least one), all at the same time, and
// waits for all ends, which stand in the order of the environments. Where one cannot be started,
// later ones are not.
std::vector<ChildEnd> RunChildren(const std::vector<std::string>& command,
                                  std::vector<Environment>* environments);

// Whether somebody asked this process to end since RunChild returned (SIGINT, SIGTERM, …).
bool IsAskedToEnd();

// Ends this process as the command ended, without a core dump of its own. For kExited and kKilled.
[[noreturn]] void EndAs(const ChildEnd& end);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_CHILD_H_
