#include "tools/launch/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"

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

pid_t Spawn(const std::vector<std::string>& command, Environment* environment, const Pipe& out,
            const Pipe& err, int* error) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  *error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(),
                        environment->Pointers().data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
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
