#include "tools/launch/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tools/base/child_ends.h"
#include "tools/launch/end_signals.h"

namespace vramstow {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxAnswer = 64 * 1024;
// How long the pipes are read after the child has ended. A grandchild may hold them open.
constexpr int kRestMs = 200;
// How long a child that was killed may take to end.
constexpr int kReapMs = 2000;

struct Pipe {
  int ends[2] = {-1, -1};
  bool open = false;
  std::string* text = nullptr;

  bool Make(std::string* into) {
    text = into;
    open = pipe2(ends, O_CLOEXEC) == 0;
    return open;
  }
  void CloseEnd(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  // Output beyond the limit is read and dropped. Otherwise the child would wait until the pipe has
  // room.
  void Read() {
    std::array<char, 4096> buffer{};
    const ssize_t got = read(ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      open = false;
      return;
    }
    text->append(buffer.data(), std::min(static_cast<size_t>(got), kMaxAnswer - text->size()));
  }
};

// Runs in the child between fork and exec. Returns only if exec fails.
void BecomeProbe(char* const* arguments, char* const* variables, const Pipe& out, const Pipe& err,
                 pid_t parent, const sigset_t& mask) {
  setpgid(0, 0);
  // Ctrl-C reaches only the parent, so the child must not outlive it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent ended before prctl
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(out.ends[1], STDOUT_FILENO);
  dup2(err.ends[1], STDERR_FILENO);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvpe(arguments[0], arguments, variables);
}

pid_t Spawn(const std::vector<std::string>& command, Environment* environment, const Pipe& out,
            const Pipe& err, int* error) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::vector<char*> variables = environment->Pointers();
  const sigset_t mask = EndSignals::MaskOfChildren();
  int exec_error[2];
  if (pipe2(exec_error, O_CLOEXEC) != 0) {
    *error = errno;
    return -1;
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    BecomeProbe(arguments.data(), variables.data(), out, err, parent, mask);
    const int why = errno;
    const ssize_t written = write(exec_error[1], &why, sizeof why);
    _exit(written == sizeof why ? 127 : 126);
  }
  *error = child < 0 ? errno : 0;
  close(exec_error[1]);
  if (child > 0) {
    ssize_t size = 0;
    do {
      size = read(exec_error[0], error, sizeof *error);
    } while (size < 0 && errno == EINTR);
    if (size == sizeof *error) waitpid(child, nullptr, 0);
  }
  close(exec_error[0]);
  return *error == 0 ? child : -1;
}

int Left(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

// Reads until both pipes are closed or the time is over.
void ReadUntil(Clock::time_point end, Pipe* out, Pipe* err) {
  while (out->open || err->open) {
    pollfd waited[2] = {{out->open ? out->ends[0] : -1, POLLIN, 0},
                        {err->open ? err->ends[0] : -1, POLLIN, 0}};
    const int ready = poll(waited, 2, Left(end));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    if (waited[0].revents != 0) out->Read();
    if (waited[1].revents != 0) err->Read();
  }
}

}  // namespace

std::string ProbeEnd::Words() const {
  switch (how) {
    case How::kExited:
      return absl::StrCat("ended with exit status ", value);
    case How::kKilled:
      return absl::StrCat("was ended by signal ", value, " (", strsignal(value), ")");
    case How::kTooSlow:
      return absl::StrCat("did not end within ", value, " s");
    case How::kNotStarted:
      break;
  }
  return absl::StrCat("could not be started (", strerror(value), ")");
}

ProbeEnd RunProbe(const std::vector<std::string>& command, Environment environment,
                  uint64_t most_ms) {
  const ChildEnds child_ends;
  ProbeEnd end;
  Pipe out;
  Pipe err;
  const bool piped = out.Make(&end.output) && err.Make(&end.errors);
  end.value = piped ? 0 : errno;
  const pid_t child = piped ? Spawn(command, &environment, out, err, &end.value) : -1;
  out.CloseEnd(1);
  err.CloseEnd(1);
  if (child > 0) {
    const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(most_ms);
    int status = 0;
    bool ended = false;
    // Waits for the child to end. A child may close its output and continue, or end while its own
    // child holds the output open.
    while (!ended && Left(deadline) > 0) {
      ReadUntil(std::min(deadline, Clock::now() + std::chrono::milliseconds(20)), &out, &err);
      ended = waitpid(child, &status, WNOHANG) == child;
      if (!ended && !out.open && !err.open) usleep(1000);
    }
    if (!ended) {
      kill(-child, SIGKILL);
      // A child that is blocked in a driver call may not end for a long time. It is not waited for
      // any longer.
      for (int i = 0; i < kReapMs && waitpid(child, &status, WNOHANG) == 0; ++i) usleep(1000);
      end.how = ProbeEnd::How::kTooSlow;
      end.value = static_cast<int>(most_ms / 1000);
    } else {
      ReadUntil(Clock::now() + std::chrono::milliseconds(kRestMs), &out, &err);
      const bool exited = WIFEXITED(status);
      end.how = exited ? ProbeEnd::How::kExited : ProbeEnd::How::kKilled;
      end.value = exited ? WEXITSTATUS(status) : WTERMSIG(status);
    }
  }
  out.CloseEnd(0);
  err.CloseEnd(0);
  return end;
}

}  // namespace vramstow
