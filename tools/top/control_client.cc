#include "tools/top/control_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/control.h"
#include "base/descriptor.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

constexpr int kPatienceMs = 10'000;

absl::StatusOr<std::string> SocketOf(pid_t process, const std::string& folder) {
  const char* chosen = std::getenv("VRAMSTOW_CONTROL_DIR");
  if (!folder.empty()) chosen = folder.c_str();
  char directory[kMaxControlPath];
  char path[kMaxControlPath];
  if (!ControlDirectory(chosen == nullptr ? "" : chosen, std::getenv("XDG_RUNTIME_DIR"), geteuid(),
                        directory, sizeof directory) ||
      !ControlSocketPath(directory, process, path, sizeof path)) {
    return absl::InvalidArgumentError("the path of the folder for control sockets is too long.");
  }
  return std::string(path);
}

// Returns an error that says why no process answers on the socket at this path.
absl::Status CannotReach(pid_t process, const std::string& path, int error) {
  const int refused = kill(process, 0) == 0 ? 0 : errno;
  if (error == ENOENT && refused == ESRCH) {
    return absl::NotFoundError(absl::StrCat("there is no process ", process, "."));
  }
  if (error == ENOENT && refused == EPERM) {
    return absl::PermissionDeniedError(absl::StrCat(
        "process ", process, " belongs to another user: run vramstow ctl as that user."));
  }
  if (error == ENOENT) {
    return absl::NotFoundError(absl::StrCat(
        "process ", process, " has no control socket (", Printable(path),
        "): a process under vramstow run opens one when PyTorch starts CUDA, with --pool=on at the "
        "first allocation, and with --trace-size when its trace begins."));
  }
  if (error == ECONNREFUSED) {
    return absl::NotFoundError(absl::StrCat(
        Printable(path), " is left over from a process that has ended: you can remove it."));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot connect to ", Printable(path), ": ", strerror(error), "."));
}

bool WaitFor(int descriptor, short what) {
  pollfd poll_for = {descriptor, what, 0};
  int ready = 0;
  do {
    ready = poll(&poll_for, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

absl::StatusOr<std::string> Ask(pid_t process, const std::string& path,
                                const std::string& request) {
  const Descriptor socket_to(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path == kMaxControlPath);
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path.c_str());
  if (connect(socket_to.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return CannotReach(process, path, errno);
  }
  const std::string line = absl::StrCat(kControlGreeting, request, "\n");
  const auto silent = [&] {
    return absl::DeadlineExceededError(
        absl::StrCat("process ", process, " does not answer; it may be stopped or busy."));
  };
  if (line.size() > kMaxControlRequest) {
    return absl::InvalidArgumentError("the request is too long.");
  }
  if (send(socket_to.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return silent();
  }
  std::string answer;
  while (answer.size() <= kMaxControlAnswer) {
    char buffer[4096];
    if (!WaitFor(socket_to.get(), POLLIN)) return silent();
    const ssize_t got = recv(socket_to.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

// Returns the body of an answer, or the error that the process reported.
absl::StatusOr<std::string> BodyOf(pid_t process, const std::string& answer) {
  const std::string ok = absl::StrCat(kControlGreeting, "OK\n");
  const std::string error = absl::StrCat(kControlGreeting, "ERROR ");
  if (answer.starts_with(ok)) return answer.substr(ok.size());
  if (answer.starts_with(error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        Printable(answer.substr(error.size(), answer.find('\n') - error.size())), "."));
  }
  return absl::UnavailableError(
      absl::StrCat("process ", process, " gave no answer that this version can parse."));
}

}  // namespace

absl::StatusOr<std::string> AskProcess(pid_t process, const std::string& folder,
                                       const std::string& request) {
  const auto path = SocketOf(process, folder);
  if (!path.ok()) return path.status();
  const auto answer = Ask(process, *path, request);
  return answer.ok() ? BodyOf(process, *answer) : answer;
}

}  // namespace vramstow
