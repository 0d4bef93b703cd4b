#include "tools/launch/run_apart.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "tools/launch/end_signals.h"
#include "tools/launch/run_logged.h"

namespace vramstow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Ends a process group step by step: as it was asked, then more and more firmly.
class GroupEnd {
 public:
  explicit GroupEnd(pid_t group) : group_(group) {}

  // Somebody asks by this signal.
  void Ask(int signal) {
    if (is_asked_) return Send(SIGKILL);
    is_asked_ = true;
    begin_ = steady_clock::now();
    Send(signal);
  }

  // Time has passed.
  void GoOn() {
    constexpr milliseconds kUntilTerminate{3'000};
    constexpr milliseconds kUntilKill{10'000};
    if (!is_asked_) return;
    const auto passed = steady_clock::now() - begin_;
    if (passed > kUntilKill) {
      Send(SIGKILL);
    } else if (passed > kUntilTerminate && !is_terminated_) {
      is_terminated_ = true;
      Send(SIGTERM);
    }
  }

  // The command itself has ended: what it started and left behind does, too.
  void Finish() const {
    if (is_asked_) Send(SIGKILL);
  }

 private:
  void Send(int signal) const { kill(-group_, signal); }

  const pid_t group_;
  bool is_asked_ = false;
  bool is_terminated_ = false;
  steady_clock::time_point begin_;
};

void StopWith(pid_t group) {
  kill(-group, SIGSTOP);
  kill(getpid(), SIGSTOP);
  // Somebody has continued this process.
  kill(-group, SIGCONT);
}

}  // namespace

int RunApart(const std::vector<std::string>& command, const std::string& log) {
  constexpr milliseconds kPatience{500};
  const EndSignals signals;
  const pid_t child = StartLogged(command, log, &EndSignals::MaskOfChildren());
  if (child < 0) return -1;
  GroupEnd end(child);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    const int signal = signals.Wait(kPatience);
    if (signal == SIGTSTP) {
      StopWith(child);
    } else if (signal != 0 && signal != SIGCHLD) {
      end.Ask(signal);
    }
    end.GoOn();
  }
  end.Finish();
  return ExitStatusOf(status);
}

}  // namespace vramstow
