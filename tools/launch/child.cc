#include "tools/launch/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tools/base/child_ends.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

// Returns all signals that this process can wait for. Signals that a processor raises at an
// instruction are not among them, because the effect of blocking them is undefined.
sigset_t RelayedSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&signals, signal);
  return signals;
}

// True for a signal that the terminal (the kernel) sent to every process of its foreground group.
bool IsFromTerminal(int signal, const siginfo_t& info) {
  if (info.si_code <= 0) return false;
  switch (signal) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGWINCH:
    case SIGCONT:
      return true;
    case SIGHUP:
      // When the terminal is closed, the kernel sends SIGHUP to the leader of the session only.
      return getsid(0) != getpid();
    default:
      return false;
  }
}

void Relay(int signal, const siginfo_t& info, pid_t child) {
  if (IsFromTerminal(signal, info)) return;
  // If the command has sent the signal to its parent or to its whole process group, the signal is
  // not passed back to the command.
  if (info.si_code <= 0 && info.si_pid == child) return;
  if (info.si_code == SI_QUEUE) {
    sigqueue(child, signal, info.si_value);
  } else {
    kill(child, signal);
  }
  // After a hang-up the kernel continues the leader of a session, which may be stopped.
  if (signal == SIGHUP && info.si_code > 0) kill(child, SIGCONT);
}

// The last signal of another process that RunChildren accepted. timeout(1), for example, sends its
// signal to the command and then to the command's process group, so that it may come twice.
struct Request {
  int signal = 0;
  pid_t sender = 0;
  std::chrono::steady_clock::time_point time;
};
Request last_request;

void NoteRequest(int signal, const siginfo_t& info) {
  if (info.si_code != SI_USER) return;
  last_request = {signal, info.si_pid, std::chrono::steady_clock::now()};
}

bool RepeatsLastRequest(int signal, const siginfo_t& info) {
  constexpr std::chrono::seconds kMost{5};
  return info.si_code == SI_USER && signal == last_request.signal &&
         info.si_pid == last_request.sender &&
         std::chrono::steady_clock::now() - last_request.time < kMost;
}

// Knows whether a stop of the command is one of the terminal's job. Whoever continues such a job
// sends SIGCONT to its whole process group. SIGSTOP is sent to single processes, and so is the
// SIGCONT after it; but a program that restores the terminal at SIGTSTP stops itself with SIGSTOP.
class JobStops {
 public:
  // Notes a signal that this process has received.
  void Note(int signal) {
    if (IsOfJobControl(signal)) is_stopping_ = true;
    if (signal == SIGCONT) is_stopping_ = false;
  }
  bool Has(int stop_signal) const {
    return IsOfJobControl(stop_signal) || is_stopping_ || IsPending();
  }

 private:
  static bool IsOfJobControl(int signal) {
    return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  }
  static bool IsPending() {
    sigset_t pending;
    if (sigpending(&pending) != 0) return false;
    return sigismember(&pending, SIGTSTP) == 1 || sigismember(&pending, SIGTTIN) == 1 ||
           sigismember(&pending, SIGTTOU) == 1;
  }

  bool is_stopping_ = false;
};

// Stops this process because the command has stopped, so that the shell notices it. Does nothing if
// the command was continued in the meantime, because this process would then remain stopped.
void StopToo(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG | WCONTINUED) == child && WIFCONTINUED(status)) return;
  kill(getpid(), SIGSTOP);
}

// Checks whether the child has ended, and how.
void LookAfter(const JobStops& stops, Child* child) {
  int status = 0;
  while (child->running && waitpid(child->pid, &status, WNOHANG | WUNTRACED) == child->pid) {
    if (WIFSTOPPED(status)) {
      if (stops.Has(WSTOPSIG(status))) StopToo(child->pid);
      continue;
    }
    child->running = false;
    // If exec failed, the pipe from the child has already reported it.
    if (child->end.how == ChildEnd::How::kNotStarted) return;
    child->end = WIFSIGNALED(status) ? ChildEnd{ChildEnd::How::kKilled, WTERMSIG(status)}
                                     : ChildEnd{ChildEnd::How::kExited, WEXITSTATUS(status)};
  }
}

// Returns the errno of the child's exec; 0 if it succeeded.
int ReadExecError(int descriptor) {
  int error = 0;
  ssize_t size = 0;
  do {
    size = read(descriptor, &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  return size == sizeof error ? error : 0;
}

std::vector<char*> Pointers(const std::vector<std::string>& command) {
  std::vector<char*> pointers;
  pointers.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// True if a folder on PATH has a file of this name. execvp reports "permission denied", and not a
// missing file, if no folder has the file and one of the folders may not be searched.
bool IsInPath(const std::string& command) {
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    if (access(absl::StrCat(folder.empty() ? "." : folder, "/", command).c_str(), F_OK) == 0) {
      return true;
    }
  }
  return false;
}

bool IsPath(const std::string& command) { return command.find('/') != std::string::npos; }

// True if the file does not exist, or PATH does not find it.
bool IsMissing(const ChildEnd& end, const std::string& command) {
  return end.how == ChildEnd::How::kNotStarted &&
         (end.value == ENOENT || (end.value == EACCES && !IsPath(command) && !IsInPath(command)));
}

// Prepares the child process. It runs between fork and exec, so it may only call functions that a
// signal handler may call.
void BecomeAs(const ChildStart& start) {
  if (start.output >= 0) {
    setsid();
    signal(SIGINT, SIG_DFL);
    dup2(start.output, STDOUT_FILENO);
    dup2(start.output, STDERR_FILENO);
  }
  sigaction(SIGCHLD, &start.child_action, nullptr);
  sigprocmask(SIG_SETMASK, &start.mask, nullptr);
}

}  // namespace

int ExitStatusOf(const ChildEnd& end, const std::string& command) {
  constexpr int kNotFound = 127;
  constexpr int kNotExecutable = 126;
  constexpr int kSignal = 128;
  if (end.how == ChildEnd::How::kExited) return end.value;
  if (end.how == ChildEnd::How::kKilled) return kSignal + end.value;
  return IsMissing(end, command) ? kNotFound : kNotExecutable;
}

std::string WhyNotStarted(const ChildEnd& end, const std::string& command) {
  if (end.how == ChildEnd::How::kExited || end.how == ChildEnd::How::kKilled) return "";
  if (end.how == ChildEnd::How::kNoProcess) {
    return absl::StrCat("cannot start a process (", strerror(end.value), ").");
  }
  if (!IsMissing(end, command)) {
    return absl::StrCat("cannot run '", Printable(command), "': ", strerror(end.value), ".");
  }
  return absl::StrCat(
      "cannot run '", Printable(command), "': there is no such ",
      IsPath(command) ? "file, or its interpreter is missing." : "command in PATH.");
}

bool IsCommandThere(const std::string& command) {
  return IsPath(command) ? access(command.c_str(), F_OK) == 0 : IsInPath(command);
}

Child StartChild(const std::vector<std::string>& command, Environment* environment,
                 const ChildStart& start) {
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = environment->Pointers();
  Child child;
  int exec_error[2];
  if (pipe2(exec_error, O_CLOEXEC) != 0) {
    child.end = {ChildEnd::How::kNoProcess, errno};
    return child;
  }
  child.pid = fork();
  if (child.pid == 0) {
    BecomeAs(start);
    execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    const ssize_t written = write(exec_error[1], &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
  }
  const int fork_error = errno;
  close(exec_error[1]);
  child.running = child.pid > 0;
  if (!child.running) {
    child.end = {ChildEnd::How::kNoProcess, fork_error};
  } else if (const int error = ReadExecError(exec_error[0]); error != 0) {
    child.end = {ChildEnd::How::kNotStarted, error};
  }
  close(exec_error[0]);
  return child;
}

std::vector<ChildEnd> RunChildren(const std::vector<std::string>& command,
                                  std::vector<Environment>* environments) {
  const sigset_t relayed = RelayedSignals();
  ChildStart start;
  sigprocmask(SIG_BLOCK, &relayed, &start.mask);
  const ChildEnds child_ends;
  start.child_action = child_ends.before();

  std::vector<Child> children;
  for (Environment& environment : *environments) {
    children.push_back(StartChild(command, &environment, start));
    const ChildEnd::How how = children.back().end.how;
    if (how == ChildEnd::How::kNotStarted || !children.back().running) break;
  }
  JobStops stops;
  for (;;) {
    for (Child& child : children) LookAfter(stops, &child);
    const auto runs = [](const Child& child) { return child.running; };
    if (std::none_of(children.begin(), children.end(), runs)) break;
    siginfo_t info = {};
    const int signal = sigwaitinfo(&relayed, &info);
    if (signal <= 0 || signal == SIGCHLD) continue;
    stops.Note(signal);
    NoteRequest(signal, info);
    for (const Child& child : children) {
      if (child.running) Relay(signal, info, child.pid);
    }
  }
  std::vector<ChildEnd> ends;
  for (const Child& child : children) ends.push_back(child.end);
  return ends;
}

bool IsAskedToEnd() {
  sigset_t asking;
  sigemptyset(&asking);
  for (int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) sigaddset(&asking, signal);
  const timespec at_once = {};
  siginfo_t info = {};
  const int signal = sigtimedwait(&asking, &info, &at_once);
  return signal > 0 && !RepeatsLastRequest(signal, info);
}

void EndAs(const ChildEnd& end) {
  if (end.how == ChildEnd::How::kExited) _exit(end.value);
  // The command has already written its core dump if it was to write one. A core dump of this
  // process would overwrite it.
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
  // If the signal did not end this process, it returns the exit status that shells report for the
  // signal.
  _exit(128 + end.value);
}

}  // namespace vramstow
