#include "tools/launch/run_apart.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>

#include "base/descriptor.h"
#include "tools/launch/end_signals.h"

namespace vramstow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A command in a session of its own. If this process is asked to end, the command's process group
// gets that signal, later SIGTERM, and at last SIGKILL.
class Session {
 public:
  explicit Session(const Child& leader) : leader_(leader) {}

  // Sends the signal by which this process was asked to end. At the second call, sends SIGKILL
  // instead.
  void Ask(int signal) {
    if (is_over()) return;
    if (is_asked_) return Send(SIGKILL);
    is_asked_ = true;
    begin_ = steady_clock::now();
    Send(signal);
  }

  // Checks whether the command has ended. If it has not, sends the next signal when its time has
  // come.
  void LookAfter() {
    if (is_over()) return;
    int status = 0;
    if (waitpid(leader_.pid, &status, WNOHANG) != leader_.pid) return Insist();
    // Processes that the command started and that still run are ended, too.
    if (is_asked_) Send(SIGKILL);
    leader_.running = false;
    if (!is_started()) return;
    leader_.end = WIFSIGNALED(status) ? ChildEnd{ChildEnd::How::kKilled, WTERMSIG(status)}
                                      : ChildEnd{ChildEnd::How::kExited, WEXITSTATUS(status)};
  }

  void Send(int signal) const {
    if (!is_over()) kill(-leader_.pid, signal);
  }

  bool is_started() const {
    return leader_.end.how != ChildEnd::How::kNotStarted && leader_.pid > 0;
  }
  bool is_over() const { return !leader_.running; }
  const ChildEnd& end() const { return leader_.end; }

 private:
  void Insist() {
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

  Child leader_;
  bool is_asked_ = false;
  bool is_terminated_ = false;
  steady_clock::time_point begin_;
};

void StopWith(const std::vector<Session>& sessions) {
  for (const Session& session : sessions) session.Send(SIGSTOP);
  kill(getpid(), SIGSTOP);
  // This process runs again because it was continued, so the sessions are continued, too.
  for (const Session& session : sessions) session.Send(SIGCONT);
}

}  // namespace

std::vector<ChildEnd> RunApart(std::vector<ApartCommand> commands) {
  constexpr milliseconds kPatience{500};
  const EndSignals signals;
  if (signals.Wait(milliseconds{0}); EndSignals::taken() != 0) return {};
  std::vector<ChildEnd> ends(commands.size());
  std::vector<Session> sessions;
  for (ApartCommand& one : commands) {
    const Descriptor file(
        open(one.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file.get() < 0) {
      ends[sessions.size()] = {ChildEnd::How::kNoProcess, errno};
      break;
    }
    sessions.emplace_back(StartChild(one.command, &one.environment,
                                     {.mask = EndSignals::MaskOfChildren(), .output = file.get()}));
    if (!sessions.back().is_started()) break;
  }
  const auto is_over = [](const Session& session) { return session.is_over(); };
  for (;;) {
    for (Session& session : sessions) session.LookAfter();
    if (std::ranges::all_of(sessions, is_over)) break;
    const int signal = signals.Wait(kPatience);
    if (signal == SIGTSTP) {
      StopWith(sessions);
    } else if (signal != 0 && signal != SIGCHLD) {
      for (Session& session : sessions) session.Ask(signal);
    }
  }
  for (size_t i = 0; i < sessions.size(); ++i) ends[i] = sessions[i].end();
  return ends;
}

}  // namespace vramstow
