#include "tools/launch/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

namespace vramstow {
namespace {

// All signals that can be waited for. Those that a processor raises at an instruction stay as they
// are: blocking them is undefined.
sigset_t RelayedSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&signals, signal);
  return signals;
}

// The terminal (the kernel) sends these to every process of its foreground group.
bool IsFromTerminal(int signal, const siginfo_t& info) {
  if (info.si_code <= 0) return false;
  switch (signal) {
    case SIGINT:
    case SIGQUIT:
    case SIGHUP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGWINCH:
    case SIGCONT:
      return true;
    default:
      return false;
  }
}

void Relay(int signal, const siginfo_t& info, pid_t child) {
  if (IsFromTerminal(signal, info)) return;
  // A command that signals its parent, or its whole group, does not mean itself.
  if (info.si_code <= 0 && info.si_pid == child) return;
  if (info.si_code == SI_QUEUE) {
    sigqueue(child, signal, info.si_value);
  } else {
    kill(child, signal);
  }
}

// The command has stopped: so does this process, that the shell may see it. Not if the command was
// continued meanwhile: nobody would continue this process then.
void StopToo(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG | WCONTINUED) == child && WIFCONTINUED(status)) return;
  kill(getpid(), SIGSTOP);
}

// Looks after the child; true once it has ended.
bool HasEnded(pid_t child, ChildEnd* end) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
    if (WIFSTOPPED(status)) {
      StopToo(child);
      continue;
    }
    *end = WIFSIGNALED(status) ? ChildEnd{ChildEnd::How::kKilled, WTERMSIG(status)}
                               : ChildEnd{ChildEnd::How::kExited, WEXITSTATUS(status)};
    return true;
  }
  return false;
}

// The errno of the child's exec; 0 where that worked.
int ReadExecError(int descriptor) {
  int error = 0;
  ssize_t size = 0;
  do {
    size = read(descriptor, &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  return size == sizeof error ? error : 0;
}

}  // namespace

ChildEnd RunChild(const std::vector<std::string>& command, Environment* environment) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const std::vector<char*> variables = environment->Pointers();

  int exec_error[2];
  if (pipe2(exec_error, O_CLOEXEC) != 0) return {ChildEnd::How::kNoProcess, errno};
  const sigset_t relayed = RelayedSignals();
  sigset_t mask_before;
  sigprocmask(SIG_BLOCK, &relayed, &mask_before);
  // If whoever started this program ignores SIGCHLD, the command's end would be lost.
  struct sigaction wait_for_children = {};
  struct sigaction child_action_before = {};
  wait_for_children.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &wait_for_children, &child_action_before);

  const pid_t child = fork();
  if (child == 0) {
    sigaction(SIGCHLD, &child_action_before, nullptr);
    sigprocmask(SIG_SETMASK, &mask_before, nullptr);
    execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    const ssize_t written = write(exec_error[1], &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
  }
  const int fork_error = errno;
  close(exec_error[1]);
  const int not_started = child < 0 ? fork_error : ReadExecError(exec_error[0]);
  close(exec_error[0]);
  if (child < 0) return {ChildEnd::How::kNoProcess, not_started};

  ChildEnd end;
  while (!HasEnded(child, &end)) {
    siginfo_t info = {};
    const int signal = sigwaitinfo(&relayed, &info);
    if (signal > 0 && signal != SIGCHLD) Relay(signal, info, child);
  }
  return not_started != 0 ? ChildEnd{ChildEnd::How::kNotStarted, not_started} : end;
}

bool IsAskedToEnd() {
  sigset_t asking;
  sigemptyset(&asking);
  for (int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) sigaddset(&asking, signal);
  const timespec at_once = {};
  return sigtimedwait(&asking, nullptr, &at_once) > 0;
}

void EndAs(const ChildEnd& end) {
  if (end.how == ChildEnd::How::kExited) _exit(end.value);
  // The command has dumped its core, if it was to; a second one would bury it.
  const rlimit no_core = {};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_DUMPABLE, 0);
  struct sigaction die = {};
  die.sa_handler = SIG_DFL;
  sigaction(end.value, &die, nullptr);
  sigset_t signal;
  sigemptyset(&signal);
  sigaddset(&signal, end.value);
  sigprocmask(SIG_UNBLOCK, &signal, nullptr);
  kill(getpid(), end.value);
  // As shells say it, should the signal not have killed.
  _exit(128 + end.value);
}

}  // namespace vramstow
