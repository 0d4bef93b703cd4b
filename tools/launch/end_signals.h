// EndSignals: delays the signals that ask this process to end (Ctrl-C, kill, a closed terminal)
// while an object of this class exists, so that results can be printed and temporary folders
// removed.
//
// Idea: the signals are blocked, and code that waits for a child accepts them. A signal that was
// not accepted ends the process when the last object is destroyed. Signals that were ignored when
// the program began, as under nohup, stay ignored. SIGINT is an exception: it is still accepted if
// the terminal did not send it. Shells let background jobs ignore SIGINT, but kill -INT is meant
// for this process.
//
// Ownership: the signal mask of the thread. Threads: the main thread only; other threads must block
// these signals. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_END_SIGNALS_H_
#define VRAMSTOW_TOOLS_LAUNCH_END_SIGNALS_H_

#include <chrono>
#include <csignal>

#include "tools/base/child_ends.h"

namespace vramstow {

class EndSignals {
 public:
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals();

  // Waits for a signal that asks this process to end, for SIGCHLD or for SIGTSTP, and returns it.
  // Returns 0 if no signal came within `most`.
  int Wait(std::chrono::milliseconds most) const;

  // Returns the signal mask for a child process: the mask that this thread had before the first
  // object of this class was created. Without an object, it is the current mask.
  static sigset_t MaskOfChildren();

  // Returns the last accepted signal that asks the process to end; 0 if there was none.
  static int taken();
  // Returns the exit status that shells report for a command that taken() ended.
  static int exit_status() { return 128 + taken(); }

 private:
  sigset_t waited_for_ = {};
  sigset_t mask_before_ = {};
  const ChildEnds child_ends_;
  bool has_terminal_interrupt_ = true;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_END_SIGNALS_H_
