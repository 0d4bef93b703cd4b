// EndSignals: what asks this process to end (Ctrl-C, kill, a terminal that closes) waits while this
// lives, so that what is known can be printed and temporary folders go.
//
// Idea: the signals are blocked, and whoever waits for a child takes them. A signal that nobody
// takes ends the process when the last object goes. What was ignored when the program began, as
// under nohup, stays ignored; but SIGINT is only not taken from the terminal then, since shells
// have background jobs ignore it, and kill -INT means this process.
//
// Ownership: the signal mask of the thread. Threads: the main one; others have to block signals.
// Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_END_SIGNALS_H_
#define VRAMSTOW_TOOLS_LAUNCH_END_SIGNALS_H_

#include <chrono>
#include <csignal>

namespace vramstow {

class EndSignals {
 public:
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals();

  // Waits for one of these signals, SIGCHLD or SIGTSTP; 0: none came in this time.
  int Wait(std::chrono::milliseconds most) const;

  // Returns the signal mask for a child: the one before the first of these objects, or the mask of
  // this thread if there is no object.
  static sigset_t MaskOfChildren();

  // The signal that was taken last and asks the process to end; 0: none was.
  static int taken();
  // The exit status of a command that such a signal ended, as shells have it.
  static int exit_status() { return 128 + taken(); }

 private:
  sigset_t waited_for_ = {};
  sigset_t mask_before_ = {};
  struct sigaction child_before_ = {};
  bool has_terminal_interrupt_ = true;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_END_SIGNALS_H_
