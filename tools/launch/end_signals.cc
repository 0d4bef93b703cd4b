#include "tools/launch/end_signals.h"

#include <ctime>

namespace vramstow {
namespace {

constexpr int kAsking[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

int taken_signal = 0;
int objects = 0;
sigset_t mask_of_children = {};

bool IsIgnored(int signal) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

}  // namespace

EndSignals::EndSignals() {
  sigemptyset(&waited_for_);
  for (int signal : kAsking) {
    if (signal == SIGINT || !IsIgnored(signal)) sigaddset(&waited_for_, signal);
  }
  has_terminal_interrupt_ = !IsIgnored(SIGINT);
  sigaddset(&waited_for_, SIGCHLD);
  if (!IsIgnored(SIGTSTP)) sigaddset(&waited_for_, SIGTSTP);
  sigprocmask(SIG_BLOCK, &waited_for_, &mask_before_);
  if (objects++ == 0) mask_of_children = mask_before_;
}

EndSignals::~EndSignals() {
  --objects;
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

int EndSignals::Wait(std::chrono::milliseconds most) const {
  const timespec time = {.tv_sec = most.count() / 1000, .tv_nsec = most.count() % 1000 * 1'000'000};
  siginfo_t info = {};
  const int signal = sigtimedwait(&waited_for_, &info, &time);
  if (signal <= 0 || (signal == SIGINT && !has_terminal_interrupt_ && info.si_code > 0)) return 0;
  if (signal != SIGCHLD && signal != SIGTSTP) taken_signal = signal;
  return signal;
}

sigset_t EndSignals::MaskOfChildren() {
  if (objects > 0) return mask_of_children;
  sigset_t now = {};
  sigprocmask(SIG_SETMASK, nullptr, &now);
  return now;
}

int EndSignals::taken() { return taken_signal; }

}  // namespace vramstow
